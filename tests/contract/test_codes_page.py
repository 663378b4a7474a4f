"""The page of problem codes is the table, and nothing else."""

from __future__ import annotations

from pathlib import Path

from siteward.core.contract.codes import CODES
from siteward.core.contract.codes_page import codes_page

PAGE = Path(__file__).parents[2] / "docs" / "problem-codes.md"


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == codes_page(), "write codes_page() to docs/problem-codes.md"


def test_every_code_is_on_the_page() -> None:
    assert all(f"| `{code}` |" in codes_page() for code in CODES)
