"""`siteward`: every command of the project. Exit codes: 0 done, 1 refused or found wrong, 2 could not.

A command's module is imported when the command is asked for: checking a file needs neither a database nor a web server.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

import click

from siteward import __version__

_COMMANDS = "siteward.core.commands."


class LazyGroup(click.Group):
    """A group of commands by name: the module under `siteward.core.commands` and the attribute that holds each."""

    def __init__(self, name: str | None = None, *, lazy: Mapping[str, str] | None = None, **given: object) -> None:
        super().__init__(name, **given)  # type: ignore[arg-type]  # what click's own decorator passes on
        self._lazy = dict(lazy or {})

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *self._lazy})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        where = self._lazy.get(cmd_name)
        if where is None:
            return super().get_command(ctx, cmd_name)
        module, _, attribute = where.partition(":")
        command: click.Command = getattr(import_module(_COMMANDS + module), attribute)
        return command


@click.group(
    cls=LazyGroup,
    lazy={
        "backup": "backup:backup_command",
        "restore": "backup:restore_command",
        "check": "upkeep:check_command",
        "prune": "upkeep:prune_command",
        "doctor": "doctor:doctor_command",
        "status": "doctor:status_command",
        "init": "site:init_command",
        "run": "site:run_command",
        "runs": "site:runs_command",
        "try": "site:try_command",
        "engine": "engine:engine_command",
        "web": "engine:web_command",
        "demo": "demo:demo_command",
        "validate": "files:validate_command",
        "explain": "files:explain_command",
        "eval": "models:eval_command",
    },
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="siteward")
@click.option("--config", type=click.Path(file_okay=False), help="The site's folder (or SITEWARD_CONFIG).")
def main(config: str | None) -> None:
    """A host for site automation with cameras. AI informs and recommends; people and plain rules move things.

    Exit codes: 0 done, 1 refused or found wrong, 2 could not.
    """


@main.group("models", cls=LazyGroup, lazy={"list": "models:models_list_command", "add": "models:models_add_command"})
def models() -> None:
    """What the site sees and reads with."""


@main.group("integration", cls=LazyGroup, lazy={"list": "site:integration_list_command"})
def integration() -> None:
    """What can be enabled on the site."""


@main.group("user", cls=LazyGroup, lazy={"add": "accounts:user_add_command", "list": "accounts:user_list_command"})
def user() -> None:
    """Who may log in."""
