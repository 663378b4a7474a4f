"""The workflow files of a site's folder: each file in `workflows/` is imported once, in Test.

A file that cannot be imported keeps its text, is said on the log with the place of what is wrong, and is looked at again at the next start.
"""

from __future__ import annotations

import asyncio
import json
import logging
from pathlib import Path
from typing import Final

from sqlalchemy import select

from siteward import __version__
from siteward.core.blueprint_files import found_beside
from siteward.core.contract import Severity, validate
from siteward.core.contract.blueprint_head import parse_version
from siteward.core.contract.blueprint_instance import Checked, FileKind, check_file
from siteward.core.contract.registry import Registry, SiteView
from siteward.core.engine.engine import Engine
from siteward.core.site.audit import HOST
from siteward.core.site.rows import upsert
from siteward.core.site.site import Site
from siteward.core.site_folder import WORKFLOWS
from siteward.core.store.schema import site_settings, workflows

_MARK: Final = "imported:"

_LOG = logging.getLogger(__name__)


async def import_new_files(folder: Path, site: Site, engine: Engine, registry: Registry, view: SiteView) -> None:
    """Import each file that was not imported yet. One that was removed on the pages does not come back."""
    files = await asyncio.to_thread(lambda: sorted((folder / WORKFLOWS).glob("*.yaml")))
    marks = select(site_settings.c.name).where(site_settings.c.name.startswith(_MARK))
    done = {row["name"] for row in await site.store.read(marks)}
    for file in files:
        if _MARK + file.name in done:
            continue
        if await _import(file, site, engine, registry, view):
            await site.store.submit(
                upsert(site_settings, {"name": _MARK + file.name, "value": json.dumps(True), "revision": 1})
            )


async def _import(file: Path, site: Site, engine: Engine, registry: Registry, view: SiteView) -> bool:
    """Whether the file is in the site now. A kill between saving and marking leaves a workflow of that name: it is not saved twice."""
    try:
        checked = await asyncio.to_thread(_check, file, registry, view)
    except OSError as error:
        _LOG.error("%s cannot be read: %s. It was not imported.", file, error.strerror)
        return False
    document = checked.report.document
    if not checked.report.ok or checked.text is None or document is None:
        for problem in checked.report.problems:
            if problem.severity is Severity.ERROR:
                _LOG.error("%s:%s:%s %s", file, problem.place.line, problem.place.column, problem.message)
        _LOG.error("%s was not imported; `siteward validate %s` says more.", file, file)
        return False
    if checked.kind is FileKind.BLUEPRINT:
        _LOG.error(
            "%s is a blueprint: it belongs into the folder blueprints; a workflow names it in `use_blueprint`.", file
        )
        return False
    if await site.store.read(select(workflows.c.id).where(workflows.c.name == document.name)):
        return True
    blueprint = None if checked.made_from is None else checked.made_from.as_dict()
    await engine.save_workflow(checked.text, HOST.who, blueprint=blueprint)
    return True


def _check(file: Path, registry: Registry, view: SiteView) -> Checked:
    return check_file(
        file.read_bytes(),
        lambda text: validate(text, registry, view),
        found_beside(file),
        version=parse_version(__version__),
    )
