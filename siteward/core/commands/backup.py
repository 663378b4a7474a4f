"""`siteward backup` and `siteward restore`: a site into one file, and back."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click
from rich.markup import escape

from siteward.core.commands.beside import database_beside
from siteward.core.commands.output import (
    errors_end_the_command,
    existing_site,
    out,
    print_json,
    site_folder,
    unwritable,
)
from siteward.core.errors import ConfigurationInvalid
from siteward.core.site.configuration import read_configuration
from siteward.core.site_archive import Manifest
from siteward.core.site_backup import back_up
from siteward.core.site_folder import CONFIGURATION
from siteward.core.site_lock import SiteLock
from siteward.core.site_restore import Restored, as_row, restore, verify


@click.command("backup")
@click.option(
    "--to",
    type=click.Path(path_type=Path),
    help="The file to write, or a folder for it. Default: siteward-DATE.zip in this folder.",
)
@click.option("--without-secrets", is_flag=True, help="Leave secrets.yaml out; a restore then needs it from elsewhere.")
@click.option("--json", "as_json", is_flag=True, help="Print what was written as JSON.")
@click.pass_context
def backup_command(context: click.Context, to: Path | None, without_secrets: bool, as_json: bool) -> None:
    """Write the site into one file, also while it runs: configuration, secrets, workflows, integrations and the database.

    Whoever has the file has the site's secrets and accounts: keep it where only you can read it.
    """
    folder = existing_site(context, as_json=as_json)
    now = datetime.now(UTC)
    target = _target(to, now)
    with errors_end_the_command(as_json):
        manifest = back_up(
            folder, target, _name(folder), now, with_secrets=not without_secrets, server=database_beside(folder)
        )
    size = target.stat().st_size
    if as_json:
        print_json(
            {
                "ok": True,
                "file": str(target),
                "bytes": size,
                "files": len(manifest.members),
                "left_out": list(manifest.left_out),
            }
        )
        return
    out.print(f"Wrote {escape(str(target))} ({_megabytes(size)}, {len(manifest.members)} files).")
    if manifest.left_out:
        out.print(f"[yellow]Not in it:[/] {escape(', '.join(manifest.left_out))}.")


def _target(to: Path | None, now: datetime) -> Path:
    name = now.strftime("siteward-%Y%m%d-%H%M%S.zip")
    if to is None:
        return Path(name)
    return to / name if to.is_dir() else to


def _name(folder: Path) -> str:
    """The site's name for the manifest. A configuration that cannot be read is backed up like any other."""
    try:
        return read_configuration(folder / CONFIGURATION).name
    except ConfigurationInvalid:
        return folder.name


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"


@click.command("restore")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--verify", "only_verify", is_flag=True, help="Check the whole file and change nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print what was done as JSON.")
@click.pass_context
def restore_command(context: click.Context, file: Path, only_verify: bool, as_json: bool) -> None:
    """Put the site in the folder of --config back from the backup FILE. The host must be stopped.

    The file is checked whole before anything is touched; what was there is kept in a folder `replaced-DATE`. A backup holds code
    (custom_integrations): restore only files that you trust.
    """
    folder = site_folder(context)
    with errors_end_the_command(as_json):
        if only_verify:
            _say_verified(file, verify(file), as_json=as_json)
            return
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            unwritable(folder, error, as_json=as_json)
        with SiteLock(folder):
            done = restore(file, folder, datetime.now(UTC))
    _say_restored(folder, done, as_json=as_json)


def _say_verified(file: Path, manifest: Manifest, *, as_json: bool) -> None:
    if as_json:
        print_json({"ok": True, **as_row(Restored(manifest, None))})
        return
    out.print(
        f"{escape(str(file))} is whole: {escape(manifest.site)} of {_moment(manifest)}, {len(manifest.members)} files, "
        f"written by Siteward {escape(manifest.siteward)}."
    )


def _say_restored(folder: Path, done: Restored, *, as_json: bool) -> None:
    if as_json:
        print_json({"ok": True, **as_row(done)})
        return
    out.print(f"{escape(str(folder))} is {escape(done.manifest.site)} as of {_moment(done.manifest)}.")
    if done.aside is not None:
        out.print(f"What was there before is in {escape(str(done.aside))}: remove it when you do not need it any more.")
    if done.database is not None:
        kept = "it was empty" if done.schema is None else f"what it held is in its schema {done.schema}"
        out.print(f"The rows are in {escape(done.database)}; {escape(kept)}.")
    if done.manifest.left_out:
        out.print(
            f"[yellow]Not in the backup:[/] {escape(', '.join(done.manifest.left_out))}. Put them there yourself."
        )
    out.print(
        "Everybody logs in again. What people and rules allowed before now moves nothing; questions that are still open can be "
        "answered anew."
    )
    out.print(f"Start it with `siteward --config {escape(str(folder))} run`.")


def _moment(manifest: Manifest) -> str:
    return escape(manifest.made_at[:16].replace("T", " ") + " UTC")
