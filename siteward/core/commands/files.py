"""Commands on workflow files: validate and explain. They need no site; where one is named, a file is judged as that site would: with its
integrations, cameras, gates and people."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from pathlib import Path

import click
from rich.markup import escape

from siteward.core.blueprint_files import check
from siteward.core.commands.output import (
    Exit,
    err,
    errors_end_the_command,
    existing_site,
    named_site,
    out,
    print_json,
    stop,
)
from siteward.core.contract import Explanation, Report, Severity, explain
from siteward.core.contract.blueprint_instance import FileKind
from siteward.core.contract.registry import Registry, SiteView
from siteward.sdk.workflows import default_registry

Against = tuple[Registry, SiteView | None]
COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}


def _read(file: str, as_json: bool) -> bytes:
    try:
        return Path(file).read_bytes()
    except OSError as error:
        stop(
            f"{file} cannot be opened: {error.strerror}. Check the name and that you may read it.",
            Exit.COULD_NOT,
            as_json=as_json,
            problem="file.unreadable",
        )


def _print_problems(file: str, report: Report) -> None:
    for problem in report.problems:
        place = f"{file}:{problem.place.line}:{problem.place.column}"
        colour = COLOURS[problem.severity]
        out.print(
            f"{escape(place)} [{colour}]{problem.severity.value}[/] {escape(problem.message)} [dim]({problem.code})[/]"
        )
        for fix in problem.fixes:
            out.print(f"    [dim]can be mended:[/] {escape(fix.title)}")


def _explain(report: Report, against: Against) -> Explanation | None:
    return explain(report.document, *against) if report.document is not None else None


def _against(context: click.Context, as_json: bool) -> Against:
    """The vocabulary of the named site and its things; what is shipped, where no site is named."""
    if named_site(context) is None:
        return default_registry(), None
    folder = existing_site(context, as_json=as_json)
    with errors_end_the_command(as_json):
        return asyncio.run(_of_site(folder))


async def _of_site(folder: Path) -> Against:
    from siteward.core.commands.beside import (
        host_beside,
    )  # a database and every integration: only where a site is asked

    async with host_beside(folder) as host:
        return host.registry, host.services.view(None)


@click.command("validate")
@click.argument("file")
@click.option("--fragment", is_flag=True, help="The file is a fragment that begins at `then:`.")
@click.option("--json", "as_json", is_flag=True, help="Print problems, needs and summary as JSON.")
@click.pass_context
def validate_command(context: click.Context, file: str, fragment: bool, as_json: bool) -> None:
    """Check a workflow FILE: what is wrong, where, and what to write instead. A blueprint is checked with its defaults.
    With --config, as that site would: with its integrations, cameras, gates and people.

    Exit code 0: nothing is an error. 1: something is. 2: the file cannot be opened.
    """
    given, against = _read(file, as_json), _against(context, as_json)
    checked = check(file, given, against[0], site=against[1], fragment=fragment)
    report = checked.report
    explanation = _explain(report, against)
    if as_json:
        print_json(
            {
                "ok": report.ok,
                "problems": [problem.as_dict() for problem in report.problems],
                "needs": {}
                if report.document is None
                else {key: list(names) for key, names in report.document.needs.items()},
                "summary": "" if explanation is None else explanation.text(),
            }
        )
    else:
        _print_problems(file, report)
        if report.ok:
            out.print(
                f"[green]{escape(file)} is a good {checked.kind.value if checked.kind is FileKind.BLUEPRINT else 'workflow'}.[/]"
            )
        else:
            wrong = sum(problem.severity is Severity.ERROR for problem in report.problems)
            err.print(f"{escape(file)}: {wrong} {'error' if wrong == 1 else 'errors'}.")
    raise click.exceptions.Exit(int(Exit.DONE if report.ok else Exit.REFUSED))


@click.command("explain")
@click.argument("file")
@click.option("--fragment", is_flag=True, help="The file is a fragment that begins at `then:`.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
@click.pass_context
def explain_command(context: click.Context, file: str, fragment: bool, as_json: bool) -> None:
    """Say in plain words what a workflow FILE would do: what starts it, what it may move, and who decides."""
    given, against = _read(file, as_json), _against(context, as_json)
    report = check(file, given, against[0], site=against[1], fragment=fragment).report
    explanation = _explain(report, against)
    if explanation is None:
        if as_json:
            print_json({"ok": False, "problems": [problem.as_dict() for problem in report.problems]})
            raise click.exceptions.Exit(int(Exit.REFUSED))
        _print_problems(file, report)
        stop(f"{file} cannot be read as a workflow; the lines above say why.", Exit.REFUSED)
    if as_json:
        print_json({"ok": report.ok, **asdict(explanation)})
    else:
        out.print(escape(explanation.text()))
        if not report.ok:
            err.print("[yellow]This file has errors and would be refused:[/] `siteward validate` lists them.")
    raise click.exceptions.Exit(int(Exit.DONE if report.ok else Exit.REFUSED))
