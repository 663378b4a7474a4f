"""`siteward demo --once`: the demo's story without a browser. One vehicle comes, the guard answers, and the run is printed."""

from __future__ import annotations

import asyncio
import logging
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.markup import escape
from rich.table import Table

from siteward.core.commands.output import Exit, err, errors_end_the_command, out, print_json, stop, unwritable
from siteward.core.commands.visitor import Story, play_story
from siteward.core.demo_site import write_demo_site
from siteward.core.host import open_host
from siteward.core.web import serving


@click.command("demo")
@click.option("--once", is_flag=True, required=True, help="Play one event to its end in a throw-away site.")
@click.option("--answer", default="Let in", show_default=True, help="What the guard replies.")
@click.option(
    "--keep", type=click.Path(path_type=Path), help="Keep the site in this folder instead of throwing it away."
)
@click.option("--json", "as_json", is_flag=True, help="Print the run's rows as JSON.")
def demo_command(once: bool, answer: str, keep: Path | None, as_json: bool) -> None:
    """Play the demo's story once: a vehicle comes to the gate, Look decides, the guard answers, the gate opens or stays shut.

    Exit code 0: the run ended as it should. 1: it did not. 2: it could not be played.
    """
    logging.basicConfig(level=logging.ERROR, format="%(levelname)-7s %(name)s: %(message)s")
    with errors_end_the_command(as_json), _folder(keep, as_json) as folder:
        story = asyncio.run(_play(folder, answer))
    if as_json:
        print_json(story.as_dict())
    else:
        _print(story)
    if not story.went_well:
        err.print(f"The run ended as {escape(story.run['state'])}: {escape(str(story.run['state_reason'] or ''))}")
        raise click.exceptions.Exit(int(Exit.REFUSED))


@contextmanager
def _folder(keep: Path | None, as_json: bool) -> Iterator[Path]:
    """A folder for the site: a temporary one, or the given one, which must not hold a site."""
    if keep is not None:
        try:
            keep.mkdir(parents=True, exist_ok=True)
            made = write_demo_site(keep)
        except OSError as error:
            unwritable(keep, error, as_json=as_json)
        if not made:
            stop(
                f"There is a site in {keep} already, and nothing was changed; name another folder.",
                Exit.COULD_NOT,
                as_json=as_json,
                problem="site.exists",
            )
        yield keep
        return
    made_folder = Path(tempfile.mkdtemp(prefix="siteward-demo-"))
    try:
        write_demo_site(made_folder)
        yield made_folder
    finally:
        shutil.rmtree(made_folder, ignore_errors=True)


async def _play(folder: Path, answer: str) -> Story:
    async with open_host(folder) as host:
        await host.start()
        async with serving(host, "127.0.0.1", 0) as address:
            return await play_story(host, address, answer)


def _print(story: Story) -> None:
    out.print(f"[bold]{escape(story.shows)}[/]")
    table = Table("Time", "Step", "Result", box=None, pad_edge=False)
    for at, step, result in story.timeline():
        table.add_row(at, escape(step), escape(result))
    out.print(table)
    state: Any = story.run["state"]
    out.print(f"Run {story.run['id']}: [bold]{escape(state)}[/]. The gate is {escape(story.gate)}.")
