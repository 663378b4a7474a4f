"""What every command shares: exit codes, where the site is, and how an error reaches a person or a program."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from typing import Any, NoReturn

import click
import orjson
from rich.console import Console
from rich.markup import escape

from siteward.core.errors import SitewardError
from siteward.core.site_folder import CONFIGURATION
from siteward.core.site_swap import is_cut_off

DEMO_FOLDER = "demo-site"


class Exit(IntEnum):
    """0: done. 1: refused, or found wrong. 2: could not (a missing file, a port in use, a model that is not there)."""

    DONE = 0
    REFUSED = 1
    COULD_NOT = 2


out = Console(highlight=False, soft_wrap=True, emoji=False)
err = Console(stderr=True, highlight=False, soft_wrap=True, emoji=False)


def print_json(value: Any) -> None:
    """One JSON value on standard output, and nothing else."""
    sys.stdout.write(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode() + "\n")


def stop(
    sentence: str, code: Exit, *, as_json: bool = False, problem: str = "error", where: str | None = None
) -> NoReturn:
    """End the command with one clear sentence (on standard error) and its exit code. The place stands before it, unless it names it itself."""
    if as_json:
        print_json({"ok": False, "error": {"code": problem, "message": sentence, "where": where}})
    else:
        place = f"{where}: " if where and where not in sentence else ""
        err.print(f"[bold red]siteward:[/] {escape(place + sentence)}")
    raise click.exceptions.Exit(int(code))


def unwritable(path: Path, error: OSError, *, as_json: bool = False) -> NoReturn:
    """End the command because `path` cannot be written."""
    stop(
        f"{path} cannot be written: {error.strerror}. Name a folder that you may write, with --config DIR.",
        Exit.COULD_NOT,
        as_json=as_json,
        problem="site.unwritable",
    )


@contextmanager
def errors_end_the_command(as_json: bool = False) -> Iterator[None]:
    """Turn the project's own errors into a sentence and exit code 2."""
    try:
        yield
    except SitewardError as error:
        stop(error.sentence, Exit.COULD_NOT, as_json=as_json, problem=error.code, where=error.where)


def named_site(context: click.Context) -> Path | None:
    """The site's folder where a person named one: `--config`, or `SITEWARD_CONFIG`."""
    given = context.find_root().params.get("config") or os.environ.get("SITEWARD_CONFIG")
    return Path(given) if given else None


def site_folder(context: click.Context) -> Path:
    """The site's folder: `--config`, `SITEWARD_CONFIG`, this folder, or the demo's folder in it."""
    if (named := named_site(context)) is not None:
        return named
    here = Path.cwd()
    if (here / CONFIGURATION).is_file():
        return here
    return here / DEMO_FOLDER


def existing_site(context: click.Context, *, as_json: bool = False) -> Path:
    """The site's folder, which must hold a configuration; otherwise the command ends and says how to make one."""
    folder = site_folder(context)
    if is_cut_off(folder):
        stop(
            f"a restore of the site in {folder} was cut off, or is just under way. If it is not, `siteward run` or the restore again brings "
            "it to its end.",
            Exit.COULD_NOT,
            as_json=as_json,
            problem="restore.cut_off",
        )
    if not (folder / CONFIGURATION).is_file():
        stop(
            f"there is no site in {folder} (no {CONFIGURATION}). Start the demo with `siteward run --demo`, make a site with "
            "`siteward --config DIR init`, or say where yours is with --config DIR.",
            Exit.COULD_NOT,
            as_json=as_json,
            problem="site.missing",
        )
    return folder
