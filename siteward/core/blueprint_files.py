"""Where a workflow file's blueprint is found when no site is asked: shipped with Siteward, or in a `blueprints` folder beside the file."""

from __future__ import annotations

from pathlib import Path

from siteward import __version__
from siteward.blueprints import PREFIX, read_shipped
from siteward.core.contract import validate
from siteward.core.contract.blueprint_head import parse_version
from siteward.core.contract.blueprint_instance import Checked, Find, check_file
from siteward.core.contract.places import BLUEPRINT_BYTES
from siteward.core.contract.registry import Registry, SiteView
from siteward.core.site_folder import BLUEPRINTS


def check(
    file: str, given: bytes, registry: Registry, *, site: SiteView | None = None, fragment: bool = False
) -> Checked:
    """Judge a workflow file, a blueprint (with its defaults) or a workflow made from one; on a site, where one is given."""
    return check_file(
        given,
        lambda text: validate(text, registry, site, fragment=fragment),
        found_beside(Path(file)),
        version=parse_version(__version__),
    )


def found_beside(file: Path) -> Find:
    """Finds a blueprint by its path: `siteward/…` is shipped; others stand in `blueprints/` beside the file, or one folder up, as in
    a site's folder."""

    def find(path: str) -> bytes:
        if path.startswith(PREFIX):
            return read_shipped(path)
        folder = file.resolve().parent
        for candidate in (folder / BLUEPRINTS / path, folder.parent / BLUEPRINTS / path):
            try:
                with candidate.open("rb") as opened:
                    return opened.read(BLUEPRINT_BYTES + 1)
            except OSError:
                continue  # it is not in this folder
        raise LookupError(path)

    return find
