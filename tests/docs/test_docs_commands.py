"""A command that a page names is there, with the options that the page gives it."""

from __future__ import annotations

import os

import click
import pytest

from siteward.core.cli import main

from .pages import ROOT, Command, commands

COMMANDS = sorted(set(commands()), key=str)


@pytest.mark.parametrize("command", [one for one in COMMANDS if one.words[0] == "siteward"], ids=str)
def test_a_command_of_the_pages_is_taken_by_the_command_line(command: Command) -> None:
    words = list(command.words[1:])
    while words and words[0] == "--config":
        del words[:2]
    found: click.Command = main
    while isinstance(found, click.Group) and words and not words[0].startswith("-"):
        name = words.pop(0)
        inner = found.get_command(click.Context(found), name)
        assert inner is not None, f"there is no command {name}"
        found = inner
    if isinstance(found, click.Group):
        assert set(words) <= {"--version", "--help"}
        return
    # Parsing checks options, their values and how many words are wanted; what is only named in passing may lack its words.
    found.make_context(found.name, words, resilient_parsing=not words)


@pytest.mark.parametrize("command", [one for one in COMMANDS if one.words[0] != "siteward"], ids=str)
def test_a_script_of_the_pages_is_there_and_can_be_run(command: Command) -> None:
    assert os.access(ROOT / command.words[0], os.X_OK)


def test_the_pages_name_every_command() -> None:
    def named(group: click.Group, before: tuple[str, ...]) -> set[tuple[str, ...]]:
        found, context = set[tuple[str, ...]](), click.Context(group)
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            found |= named(command, (*before, name)) if isinstance(command, click.Group) else {(*before, name)}
        return found

    told = {" ".join(one.words) for one in COMMANDS}
    missing = {path for path in named(main, ("siteward",)) if not any(one.startswith(" ".join(path)) for one in told)}
    assert missing == set()
