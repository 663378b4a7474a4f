"""What the operator's page says of figures, the log and retention is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from siteward.core.demo_site import write_demo_site
from siteward.core.host import open_host
from siteward.core.logs import FIELDS
from siteward.core.site.configuration import read_configuration
from siteward.core.store.retention import AUDIT_DAYS, KEPT_DAYS

from .pages import ROOT

PAGE = (ROOT / "docs" / "operator.md").read_text()


async def test_every_figure_is_on_the_page_and_every_one_of_the_page_is_given(tmp_path: Path) -> None:
    write_demo_site(tmp_path)
    async with open_host(tmp_path) as host:
        text = (await host.metrics()).decode()
    given = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE siteward_")} - {"siteward_info"}
    told = set(re.findall(r"`(siteward_\w+)`", PAGE))
    assert told == given


@pytest.mark.parametrize("field", FIELDS)
def test_the_fields_of_a_log_record_are_on_the_page(field: str) -> None:
    assert f"`{field}`" in PAGE


def test_the_line_of_the_configuration_is_taken(tmp_path: Path) -> None:
    (line,) = [line for line in PAGE.splitlines() if line.startswith("web: ")]
    (tmp_path / "configuration.yaml").write_text(line + "\n")
    (tmp_path / "secrets.yaml").write_text("metrics_token: a-token-of-some-length\n")
    assert read_configuration(tmp_path / "configuration.yaml").metrics_token == "a-token-of-some-length"


def test_the_ages_are_those_of_the_code() -> None:
    assert f"runs that ended {KEPT_DAYS} days ago" in PAGE
    assert f"The audit stays {AUDIT_DAYS} days" in PAGE
