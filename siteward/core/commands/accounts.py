"""Commands on the accounts of a site: make one, and list them. Whoever may write the site's folder may use them, as with its configuration."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import click
from rich.markup import escape
from rich.table import Table

from siteward.core.commands.beside import host_beside
from siteward.core.commands.output import Exit, errors_end_the_command, existing_site, out, print_json, stop
from siteward.core.host import open_host
from siteward.core.site.audit import Actor
from siteward.core.site.permissions import Person, SiteRole
from siteward.core.site.site import Site
from siteward.core.site_lock import holder

WHO = Actor("cli")
"""How the audit log names whoever types these commands: a program cannot know who that is."""


@click.command("add")
@click.argument("name")
@click.option(
    "--role",
    type=click.Choice([role.value for role in SiteRole]),
    default=SiteRole.OPERATOR.value,
    show_default=True,
    help="operator answers and turns workflows on, viewer looks, admin does everything.",
)
@click.option(
    "--camera", "cameras", multiple=True, metavar="ID", help="A camera that they see (again for each); none named: all."
)
@click.option("--password-stdin", is_flag=True, help="Read the password from standard input instead of asking for it.")
@click.pass_context
def user_add_command(
    context: click.Context, name: str, role: str, cameras: tuple[str, ...], password_stdin: bool
) -> None:
    """Make an account NAME, such as a guard's. The site may run meanwhile.

    Who is asked as `role:guard` stands in configuration.yaml: `groups: { guard: [NAME] }`.
    """
    folder = existing_site(context)
    password = _password(name, from_stdin=password_stdin)
    with errors_end_the_command():
        person = asyncio.run(_add(folder, name, password, SiteRole(role), cameras))
    out.print(escape(_made(person)))


def _password(name: str, *, from_stdin: bool) -> str:
    if from_stdin:
        return sys.stdin.readline().rstrip("\r\n")
    given: str = click.prompt(
        f"Password of {name}", hide_input=True, confirmation_prompt="The same password again", err=True
    )
    return given


async def _add(folder: Path, name: str, password: str, role: SiteRole, cameras: Sequence[str]) -> Person:
    # The rows of the account are all that is written: what the configuration says by now is for the host's next start.
    async with open_host(folder, applies=False, migrates=holder(folder) is None) as host:
        _check_cameras(host.site, cameras)
        return await host.site.people.create(WHO, name, password, role, cameras or None)


def _check_cameras(site: Site, cameras: Sequence[str]) -> None:
    known = [camera.id for camera in site.configuration.cameras]
    if strange := [one for one in cameras if one not in known]:
        _no_camera(strange[0], known)


def _no_camera(given: str, known: Sequence[str]) -> NoReturn:
    stop(f"There is no camera {given}. The site's cameras: {', '.join(known) or 'none'}.", Exit.COULD_NOT)


def _made(person: Person) -> str:
    seen = "all cameras" if person.cameras is None else "the cameras " + ", ".join(sorted(person.cameras))
    if person.groups:
        asked = f"It is asked as {', '.join(f'role:{group}' for group in sorted(person.groups))}."
    else:
        asked = f"It is in no group: to have it asked as role:guard, write `groups: {{ guard: [{person.name}] }}` into configuration.yaml."
    return f"Made the account {person.name} ({person.role.value}), which sees {seen}. {asked}"


@click.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print the rows as JSON.")
@click.pass_context
def user_list_command(context: click.Context, as_json: bool) -> None:
    """List the accounts of the site."""
    folder = existing_site(context, as_json=as_json)
    with errors_end_the_command(as_json):
        rows = asyncio.run(_everyone(folder))
    if as_json:
        print_json(rows)
        return
    table = Table("Name", "Role", "Groups", "Sees", box=None)
    for row in rows:
        seen = "all cameras" if row["cameras"] is None else ", ".join(row["cameras"]) or "no camera"
        table.add_row(row["name"], row["role"], ", ".join(row["groups"]), escape(seen))
    out.print(table if rows else "No accounts yet: `siteward run` prints a one-time code for the first.")


async def _everyone(folder: Path) -> list[dict[str, Any]]:
    async with host_beside(folder) as host:
        return [
            {
                "name": person.name,
                "role": person.role.value,
                "groups": sorted(person.groups),
                "cameras": None if person.cameras is None else sorted(person.cameras),
            }
            for person in await host.site.people.everyone()
        ]
