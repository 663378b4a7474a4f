"""Accounts from the terminal: a guard is made without the pages, and nobody is made by half."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from siteward.core.cli import main

from .running import COULD_NOT, DONE, Said, on

PASSWORD = "a long enough password"


def add(site: Path, *arguments: str, password: str = PASSWORD) -> Said:
    """`siteward user add`, with the password on standard input."""
    line = ["--config", str(site), "user", "add", "--password-stdin", *arguments]
    result = CliRunner().invoke(main, line, input=password + "\n", catch_exceptions=False)
    return Said(result.exit_code, result.stdout, result.stderr)


def test_a_guard_of_the_configured_group_is_made_from_the_terminal(site: Path) -> None:
    file = site / "configuration.yaml"
    file.write_text(file.read_text().replace("guard: [guard]", "guard: [ben]"))
    said = add(site, "ben")
    assert (said.code, said.out.strip()) == (
        DONE,
        "Made the account ben (operator), which sees all cameras. It is asked as role:guard.",
    )
    (ben,) = [row for row in on(site, "user", "list", "--json").json if row["name"] == "ben"]
    assert ben == {"name": "ben", "role": "operator", "groups": ["guard"], "cameras": None}
    assert "ben" in on(site, "user", "list").out


def test_a_guard_sees_the_named_cameras_only(site: Path) -> None:
    said = add(site, "ben", "--camera", "gate")
    assert "which sees the cameras gate. It is in no group: to have it asked as role:guard, write" in said.out
    assert [row["cameras"] for row in on(site, "user", "list", "--json").json if row["name"] == "ben"] == [["gate"]]


@pytest.mark.parametrize(
    ("arguments", "password", "sentence"),
    [
        (("Ben",), PASSWORD, "A name is small letters, digits, . _ and -, begins with a letter"),
        (("ben",), "short", "A password has 10 to 256 characters. Choose another one."),
        (("ben",), "", "A password has 10 to 256 characters. Choose another one."),
        (("ben", "--camera", "roof"), PASSWORD, "There is no camera roof. The site's cameras: gate, yard."),
    ],
)
def test_an_account_that_cannot_be_is_refused_with_a_sentence(
    site: Path, arguments: tuple[str, ...], password: str, sentence: str
) -> None:
    before = on(site, "user", "list", "--json").json
    said = add(site, *arguments, password=password)
    assert said.code == COULD_NOT
    assert said.sentence.startswith(sentence)
    assert on(site, "user", "list", "--json").json == before


def test_a_name_is_given_once(site: Path) -> None:
    assert add(site, "ben").code == DONE
    assert add(site, "ben").sentence == "There is an account ben already. Choose another name."
