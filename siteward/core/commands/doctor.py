"""`siteward doctor` says what is wrong with a site and what to do; `siteward status` says in a few lines how it is."""

from __future__ import annotations

import asyncio
import shutil
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import aiohttp
import click
from rich.markup import escape

from siteward import __version__
from siteward.core.commands.beside import host_beside, store_beside
from siteward.core.commands.output import errors_end_the_command, existing_site, out, print_json
from siteward.core.commands.upkeep import end_with, print_findings
from siteward.core.doctor import (
    Life,
    look_at_folder,
    look_at_life,
    look_at_parts,
    look_at_processes,
    look_at_rows,
    read_status,
)
from siteward.core.engine.leases import living
from siteward.core.errors import SitewardError
from siteward.core.site.configuration import read_configuration
from siteward.core.site_folder import CONFIGURATION, DATABASE
from siteward.core.site_lock import holder
from siteward.core.store.check import Finding, Grade, check_file, check_rows

ANSWER_SECONDS: Final = 5.0


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
@click.pass_context
def doctor_command(context: click.Context, as_json: bool) -> None:
    """Say what is wrong with the site, and what to do about each. Needs no network and changes nothing; the host may run.

    Exit code 0: nothing is wrong. 1: something is. 2: there is no site.
    """
    folder = existing_site(context, as_json=as_json)
    findings = asyncio.run(_examine(folder))
    if as_json:
        wrong = any(finding.grade is Grade.WRONG for finding in findings)
        print_json({"ok": not wrong, "siteward": __version__, "findings": [finding.as_dict() for finding in findings]})
    else:
        print_findings(findings)
        if not any(finding.grade is not Grade.NOTE for finding in findings):
            out.print("[green]Nothing is wrong.[/]")
    end_with(findings)


async def _examine(folder: Path) -> list[Finding]:
    """Every examination, each by itself: one that cannot be made is a finding, and the others go on."""
    now = datetime.now(UTC).timestamp()
    found = list(look_at_folder(folder, now))
    try:
        configuration = await asyncio.to_thread(read_configuration, folder / CONFIGURATION)
    except SitewardError as error:
        told = "Correct the file at the places named; a running host keeps what it started with."
        found.append(Finding(error.code, Grade.WRONG, f"{error.where or CONFIGURATION}: {error.sentence}", told))
        configuration = None
    life = await _life(folder)
    of_rows, running = await _database(folder, now, life)
    found += of_rows
    if configuration is not None and not any(finding.code.startswith(("store.", "database.")) for finding in found):
        found += await _parts(folder, running=running)
    return found


async def _database(folder: Path, now: float, life: Life) -> tuple[list[Finding], bool]:
    """What the database says, and whether the site is at work: a database on a server knows by whom, a file's host holds the folder."""
    running = life.process is not None
    found = list(look_at_life(life))
    try:
        async with store_beside(folder) as store:
            if store is None:
                told = "Start one with `siteward run`."
                return [*found, Finding("database.none", Grade.NOTE, "No host has run here yet.", told)], running
            if store.shared:
                at_work = await living(store)
                running = bool(at_work)
                found = [*look_at_processes(at_work), *(look_at_life(life) if life.process is not None else ())]
            damaged = await check_file(store, quick=True)
            if damaged:
                return [*found, *damaged], running
            found += await check_rows(store, now)
            return [*found, *await look_at_rows(store, now, running=running)], running
    except SitewardError as error:
        told = "`siteward check` says more; `siteward restore` puts a backup back."
        return [*found, Finding(error.code, Grade.WRONG, error.sentence, told)], running


async def _parts(folder: Path, *, running: bool) -> list[Finding]:
    try:
        async with host_beside(folder) as host:
            return await look_at_parts(host, running=running)
    except SitewardError as error:
        return [Finding(error.code, Grade.WRONG, error.sentence, "Correct that; nothing else could be looked at.")]


async def _life(folder: Path) -> Life:
    held = holder(folder)
    if held is None:
        return Life(None, "", False)
    return Life(held.process, held.address, await _answers(held.address) if held.address else False)


async def _answers(address: str) -> bool:
    with suppress(aiohttp.ClientError, TimeoutError):
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=ANSWER_SECONDS)) as http:
            async with http.get(f"{address}/api/v1/alive") as answer:
                return answer.status == 200
    return False


@click.command("status")
@click.option("--json", "as_json", is_flag=True, help="Print the numbers as JSON.")
@click.pass_context
def status_command(context: click.Context, as_json: bool) -> None:
    """Say in a few lines how the site is: whether it runs, its workflows, runs and open questions, and the room on the disk."""
    folder = existing_site(context, as_json=as_json)
    with errors_end_the_command(as_json):
        told = asyncio.run(_status(folder))
    if as_json:
        print_json(told)
        return
    out.print(f"[bold]{escape(told['site'])}[/] in {escape(str(folder))}, Siteward {__version__}")
    for line in _lines(told):
        out.print(f"  {escape(line)}")


async def _status(folder: Path) -> dict[str, Any]:
    configuration = await asyncio.to_thread(read_configuration, folder / CONFIGURATION)
    life = await _life(folder)
    files = (folder / name for name in (DATABASE, f"{DATABASE}-wal"))
    told: dict[str, Any] = {
        "site": configuration.name,
        "process": life.process,
        "address": life.address if life.answers else None,
        "database_bytes": sum(file.stat().st_size for file in files if file.is_file()),
        "disk_free_bytes": shutil.disk_usage(folder).free,
    }
    async with store_beside(folder) as store:
        if store is not None:
            told |= await read_status(store, datetime.now(UTC).timestamp())
    return told


def _lines(told: dict[str, Any]) -> list[str]:
    where = f", at {told['address']}" if told["address"] else ""
    lines = [_at_work(told, where)]
    if "workflows" not in told:
        return [*lines, "No host has run here yet."]
    attention = f"; {told['need_attention']} need attention: `siteward doctor`" if told["need_attention"] else ""
    lines.append(f"Workflows: {_counts(told['workflows'], 'none')}{attention}.")
    lines.append(
        f"Runs now: {_counts(told['runs_alive'], 'none')}. Of the last 24 hours: {_counts(told['runs_of_a_day'], 'none')}."
    )
    lines.append(f"Questions that wait for somebody: {told['questions']}.")
    if told["last_change_seconds_ago"] is not None:
        lines.append(f"The last thing happened {_ago(told['last_change_seconds_ago'])} ago.")
    lines.append(
        f"Database {told['database_bytes'] / 1e6:.1f} MB; {told['disk_free_bytes'] / 1e9:.1f} GB of the disk are free."
    )
    return lines


def _at_work(told: dict[str, Any], where: str) -> str:
    if told["process"] is not None:
        return f"The host runs (process {told['process']}{where})."
    if not (names := [one["name"] for one in told.get("at_work", ())]):
        return "No host runs."
    engines = any(one["engine"] for one in told["at_work"])
    return f"At work: {', '.join(names)}." + ("" if engines else " No engine is: `siteward doctor`.")


def _counts(counts: dict[str, int], none: str) -> str:
    return ", ".join(f"{count} {state}" for state, count in sorted(counts.items())) or none


def _ago(seconds: float) -> str:
    for unit, name in ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:.0f} {name}"
    return f"{seconds:.0f} s"
