"""`siteward`: every command of the project. Exit codes: 0 done, 1 refused or found wrong, 2 could not."""

from __future__ import annotations

import click

from siteward import __version__
from siteward.core.commands.demo import demo_command
from siteward.core.commands.files import explain_command, validate_command
from siteward.core.commands.models import eval_command, models_add_command, models_list_command
from siteward.core.commands.site import (
    init_command,
    integration_list_command,
    run_command,
    runs_command,
    try_command,
)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="siteward")
@click.option("--config", type=click.Path(file_okay=False), help="The site's folder (or SITEWARD_CONFIG).")
def main(config: str | None) -> None:
    """A host for site automation with cameras. AI informs and recommends; people and plain rules move things.

    Exit codes: 0 done, 1 refused or found wrong, 2 could not.
    """


@main.group("models")
def models() -> None:
    """What the site sees and reads with."""


@main.group("integration")
def integration() -> None:
    """What can be enabled on the site."""


for command in (
    init_command,
    run_command,
    demo_command,
    validate_command,
    explain_command,
    try_command,
    runs_command,
    eval_command,
):
    main.add_command(command)
models.add_command(models_list_command)
models.add_command(models_add_command)
integration.add_command(integration_list_command)
