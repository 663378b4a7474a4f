"""`siteward check` and `siteward prune`: is the database sound, and what is old out of it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import click
from rich.markup import escape

from siteward.core.commands.beside import store_beside
from siteward.core.commands.output import (
    Exit,
    errors_end_the_command,
    existing_site,
    out,
    print_json,
    stop,
)
from siteward.core.contract.durations import parse_duration
from siteward.core.store.check import Finding, Grade, check_file, check_rows
from siteward.core.store.retention import AUDIT_DAYS, DAY, KEPT_DAYS, Ages, Pruned, prune, would_prune

COLOURS = {Grade.NOTE: "cyan", Grade.WARNING: "yellow", Grade.WRONG: "bold red"}


def print_findings(findings: Sequence[Finding]) -> None:
    """Each finding with what to do, the worst first."""
    order = [Grade.WRONG, Grade.WARNING, Grade.NOTE]
    for finding in sorted(findings, key=lambda one: order.index(one.grade)):
        out.print(f"[{COLOURS[finding.grade]}]{finding.grade.value}[/] {escape(finding.what)}")
        out.print(f"    {escape(finding.do)}")


def end_with(findings: Sequence[Finding]) -> None:
    """Exit code 1 where something is wrong."""
    if any(finding.grade is Grade.WRONG for finding in findings):
        raise click.exceptions.Exit(int(Exit.REFUSED))


@click.command("check")
@click.option("--quick", is_flag=True, help="Do not compare every index with its table (much faster on a large site).")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
@click.pass_context
def check_command(context: click.Context, quick: bool, as_json: bool) -> None:
    """Check the site's database, also while the host runs: its file, its references, and what must hold between its rows. Changes nothing.

    Exit code 0: nothing is wrong. 1: something is. 2: the database cannot be read.
    """
    folder = existing_site(context, as_json=as_json)
    with errors_end_the_command(as_json):
        findings = asyncio.run(_check(folder, quick))
    if as_json:
        wrong = any(finding.grade is Grade.WRONG for finding in findings or ())
        print_json({"ok": not wrong, "findings": [finding.as_dict() for finding in findings or ()]})
    elif findings is None:
        out.print("No host has run here yet: there is no database to check.")
    else:
        print_findings(findings)
        if not findings:
            out.print("[green]The database is sound.[/]")
    end_with(findings or ())


async def _check(folder: Path, quick: bool) -> list[Finding] | None:
    async with store_beside(folder) as store:
        if store is None:
            return None
        damaged = await check_file(store, quick=quick)
        # What a damaged file says of its rows means nothing.
        return damaged or await check_rows(store, datetime.now(UTC).timestamp())


@click.command("prune")
@click.option(
    "--older-than",
    default=f"{KEPT_DAYS}d",
    show_default=True,
    metavar="AGE",
    help="What ended this long ago leaves (30d, 12h).",
)
@click.option("--dry-run", is_flag=True, help="Only say how much would leave.")
@click.option("--json", "as_json", is_flag=True, help="Print the numbers as JSON.")
@click.pass_context
def prune_command(context: click.Context, older_than: str, dry_run: bool, as_json: bool) -> None:
    """Take what is old out of the database, as the host does once a day; also while it runs.

    Runs that ended leave with their steps and questions, then events, alerts that somebody acknowledged, and pictures that nothing shows any more. What
    is open stays. The audit stays 400 days, whatever AGE says.
    """
    folder = existing_site(context, as_json=as_json)
    try:
        seconds = parse_duration(older_than)
    except ValueError as error:
        stop(f"--older-than: {error}.", Exit.COULD_NOT, as_json=as_json, problem="age.invalid")
    with errors_end_the_command(as_json):
        done = asyncio.run(_prune(folder, seconds / DAY, dry_run))
    if as_json:
        print_json({"ok": True, "dry_run": dry_run, **asdict(done)})
        return
    said = (
        f"{done.runs} runs, {done.events} events, {done.pictures} pictures, {done.alerts} alerts and {done.audit} lines of the audit "
        f"(older than {AUDIT_DAYS} days)"
    )
    out.print(f"Would leave: {said}." if dry_run else f"Gone: {said}.")
    if dry_run and done.pictures:
        out.print("Pictures that something still shows stay: there may be fewer.")


async def _prune(folder: Path, days: float, dry_run: bool) -> Pruned:
    ages = Ages.of(datetime.now(UTC).timestamp(), days)
    async with store_beside(folder) as store:
        if store is None:
            return Pruned()
        return await (would_prune(store, ages) if dry_run else prune(store, ages))
