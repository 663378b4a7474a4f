"""Models outside a running site: files that can be added, and a model opened for an evaluation."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from siteward.core.agent import LLMClient
from siteward.core.errors import ConfigurationInvalid
from siteward.core.host import open_host
from siteward.core.plugins.loader import load_shipped
from siteward.core.site.configuration import ModelConfiguration, SiteConfiguration, read_configuration
from siteward.core.site_folder import CONFIGURATION

DEFAULT_KIND = "embedded.perception"


def downloads() -> Mapping[str, Callable[[str], Awaitable[Sequence[str]]]]:
    """Every set of model files that a loaded kind of model can add, by name."""
    return {name: add for kind in load_shipped().model_kinds.values() for name, add in kind.downloads.items()}


@asynccontextmanager
async def open_for_evaluation(name: str | None, folder: Path) -> AsyncIterator[LLMClient]:
    """A model of the site in `folder` by its name, or a kind of model with its defaults; nothing of the site is touched.

    Raises `ConfigurationInvalid` where the model cannot be opened.
    """
    configured: Mapping[str, ModelConfiguration] = {}
    if (folder / CONFIGURATION).is_file():
        configured = read_configuration(folder / CONFIGURATION).models
    chosen = configured.get(name) if name else next(iter(configured.values()), None)
    model = chosen or ModelConfiguration("model", name or DEFAULT_KIND, {})
    site = SiteConfiguration("Evaluation", "UTC", "127.0.0.1", 0, models={model.name: model})
    with tempfile.TemporaryDirectory(prefix="siteward-eval-") as scratch:
        async with open_host(folder, configuration=site, database=Path(scratch) / "eval.db") as host:
            client = host.models.vision or host.models.text
            if client is None:
                raise ConfigurationInvalid(host.models.problems[model.name], where=model.name)
            yield client
