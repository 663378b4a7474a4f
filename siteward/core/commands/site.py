"""Commands on a site: make one, run it, and look at what it did."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from textwrap import shorten
from typing import Any

import click
from rich.markup import escape
from rich.table import Table

from siteward.core.collecting import settle_collector
from siteward.core.commands.beside import host_beside, store_beside
from siteward.core.commands.output import (
    Exit,
    errors_end_the_command,
    existing_site,
    out,
    print_json,
    site_folder,
    stop,
    unwritable,
)
from siteward.core.commands.past import newest_events, refusals, run_rows, shown
from siteward.core.demo_site import write_demo_site
from siteward.core.host import Host, load_site, open_host
from siteward.core.logs import LogFormat, write_logs
from siteward.core.plugins.discovery import CUSTOM
from siteward.core.site.configuration import SiteConfiguration, read_configuration
from siteward.core.site.configuration_yaml import secrets_of
from siteward.core.site_folder import BLUEPRINTS, CONFIGURATION, MODELS, WORKFLOWS
from siteward.core.site_lock import SiteLock
from siteward.core.site_swap import STAGING, finish_restore
from siteward.core.web import serving

WOULD_HAVE = 48
"""Letters of one effect in the table; a message repeats the whole reason."""
FIRST_CONFIGURATION = """\
# A site. `siteward run` says where something is wrong; docs/installer.md has every key.
name: My site
zone: UTC
web: { host: 127.0.0.1, port: 8787 }
cameras: []
"""


@click.command("init")
@click.pass_context
def init_command(context: click.Context) -> None:
    """Make the folder of a site (the one of --config) with a first configuration.yaml."""
    folder = site_folder(context)
    file = folder / CONFIGURATION
    if file.exists():
        stop(f"{file} exists already; nothing was changed.", Exit.REFUSED)
    try:
        for name in (BLUEPRINTS, WORKFLOWS, CUSTOM, MODELS):
            (folder / name).mkdir(parents=True, exist_ok=True)
        file.write_text(FIRST_CONFIGURATION, encoding="utf-8")
    except OSError as error:
        unwritable(folder, error)
    out.print(f"Made {escape(str(file))}. Start it with `siteward --config {escape(str(folder))} run`.")


@click.command("run")
@click.option("--demo", is_flag=True, help="Make the demo site in the folder first, where there is none.")
@click.option(
    "--port", type=click.IntRange(0, 65535), help="Another port than configuration.yaml says (0: a free one)."
)
@click.option(
    "--log-format",
    type=click.Choice([style.value for style in LogFormat]),
    envvar="SITEWARD_LOG_FORMAT",
    default=LogFormat.TEXT.value,
    show_default=True,
    help="How the log is written (to standard error): for a person, or one JSON object a line (or SITEWARD_LOG_FORMAT).",
)
@click.pass_context
def run_command(context: click.Context, demo: bool, port: int | None, log_format: str) -> None:
    """Run a site until it is stopped (Ctrl-C). Prints its address, and the one-time code while it has no admin."""
    folder = site_folder(context)
    if (folder / STAGING).exists():
        with errors_end_the_command(), SiteLock(folder):
            if finish_restore(folder):
                out.print("The restore that was cut off is finished.")
    if demo:
        try:
            if write_demo_site(folder):
                out.print(f"Made the demo site in {escape(str(folder))}.")
        except OSError as error:
            unwritable(folder, error)
    folder = existing_site(context)
    with errors_end_the_command(), SiteLock(folder) as lock:
        configuration = read_configuration(folder / CONFIGURATION)
        write_logs(LogFormat(log_format), secrets=secrets_of(folder))
        asyncio.run(_run(folder, configuration, port, lock))


async def _run(folder: Path, configuration: SiteConfiguration, port: int | None, lock: SiteLock) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    async with open_host(folder, configuration=configuration) as host:
        await host.start()
        chosen = configuration.port if port is None else port
        async with serving(host, configuration.host, chosen) as address:
            lock.tell(address)
            await greet(host, address)
            settle_collector()
            await stopped.wait()
            out.print("Stopping ...")


async def greet(host: Host, address: str) -> None:
    """Say where the site is, what is wrong with it, and the one-time code while it has no admin."""
    health = await host.health()
    for part in health["parts"]:
        if not part["ok"]:
            out.print(f"[yellow]{escape(part['name'])}:[/] {escape(part['sentence'])}")
    out.print(f"{escape(host.site.configuration.name)} is running at [bold]{address}[/]")
    code = await host.site.people.open_code()
    if code is not None:
        out.print(f"Make the first account there with this one-time code: [bold]{code}[/]")


@click.command("runs")
@click.option("--last", default=20, show_default=True, type=click.IntRange(1, 1000), help="How many of the newest.")
@click.option("--json", "as_json", is_flag=True, help="Print the rows as JSON.")
@click.pass_context
def runs_command(context: click.Context, last: int, as_json: bool) -> None:
    """List the newest runs of the site, live and in Test."""
    folder = existing_site(context, as_json=as_json)
    with errors_end_the_command(as_json):
        rows, refused = asyncio.run(_runs(folder, last))
    if as_json:
        print_json(rows)
        return
    table = Table("Started", "Workflow", "Mode", "State", "Why", "Run", box=None)
    for row in rows:
        table.add_row(
            *(escape(str(row[key] or "")) for key in ("started_at", "workflow", "mode", "state", "why", "run"))
        )
    out.print(table if rows else "No runs yet.")
    if refused:
        out.print("Events that started no run:")
        for line in refused:
            out.print("  " + escape(line))


async def _runs(folder: Path, last: int) -> tuple[list[dict[str, Any]], list[str]]:
    async with store_beside(folder) as store:
        if store is None:
            return [], []
        return await run_rows(store, last), await refusals(store)


@click.command("try")
@click.argument("workflow")
@click.option("--last", default=20, show_default=True, type=click.IntRange(1, 50), help="How many past events.")
@click.option("--json", "as_json", is_flag=True, help="Print the rows as JSON.")
@click.pass_context
def try_command(context: click.Context, workflow: str, last: int, as_json: bool) -> None:
    """Decide the newest past events that WORKFLOW (its name or id) would take, on their stored pictures and without effects."""
    folder = existing_site(context, as_json=as_json)
    with errors_end_the_command(as_json):
        rows = asyncio.run(_try(folder, workflow, last, as_json))
    if as_json:
        print_json(rows)
        return
    table = Table("When", "Event", "Decided", "Would have (--json has all of it)", box=None)
    for row in rows:
        table.add_row(row["at"], *(escape(cell) for cell in (_came(row), _decided(row), _would_have(row))))
    out.print(table if rows else "There is no past event that this workflow would take.")


def _came(row: dict[str, Any]) -> str:
    return f"{row['type']}\n{row['camera'] or ''}"


def _decided(row: dict[str, Any]) -> str:
    """The decision, how sure it is, and the first sentence of its reason; the state where nothing was decided."""
    if not row["decision"]:
        return f"{row['state']}\n{row['why'] or ''}"
    sure = "not measured" if row["confidence"] is None else f"{row['confidence']:.2f}"
    return f"{row['decision']} ({sure})\n{(row['reason'] or '').split('. ')[0]}"


def _would_have(row: dict[str, Any]) -> str:
    return "\n".join(shorten(one, WOULD_HAVE, placeholder=" …") for one in row["would_have"])


async def _try(folder: Path, name: str, last: int, as_json: bool) -> list[dict[str, Any]]:
    async with host_beside(folder) as host:
        await host.engine.look()
        found = [held for held in host.engine.catalog if name in (held.id, held.name)]
        if len(found) != 1:
            known = ", ".join(sorted(held.name for held in host.engine.catalog)) or "none"
            many = "Several workflows are" if found else "There is no workflow"
            stop(
                f"{many} called {name}. The site's workflows: {known}.",
                Exit.COULD_NOT,
                as_json=as_json,
                problem="not_found",
            )
        events = await newest_events(host, found[0], last)
        return [{**row, "at": shown(row["at"])} for row in await host.engine.try_workflow(found[0].id, events)]


@click.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print the rows as JSON.")
@click.pass_context
def integration_list_command(context: click.Context, as_json: bool) -> None:
    """List the integrations that were found, and what became of each."""
    folder = existing_site(context, as_json=as_json)
    with errors_end_the_command(as_json):
        rows = asyncio.run(_integrations(folder))
    if as_json:
        print_json(rows)
        return
    table = Table("Integration", "From", "State", "Why", box=None)
    for row in rows:
        table.add_row(*(escape(row[key]) for key in ("domain", "source", "state", "sentence")))
    out.print(table)


async def _integrations(folder: Path) -> list[dict[str, str]]:
    configuration = await asyncio.to_thread(read_configuration, folder / CONFIGURATION)
    loaded = await load_site(folder, configuration)
    return [
        {
            "domain": record.domain,
            "source": record.source.value,
            "state": record.state.value,
            "sentence": record.sentence,
        }
        for record in sorted(loaded.records, key=lambda record: record.domain)
    ]
