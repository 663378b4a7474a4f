"""The built-in perception: small networks in a worker process, as a model that fills a closed vocabulary."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from siteward.sdk import ModelKind, hookimpl

from .catalogue import DOWNLOADS
from .fetch import add_models
from .perception import NAME, open_perception

__all__ = ["siteward_models"]


@hookimpl
def siteward_models() -> list[ModelKind]:
    """The perception, as a site's configuration names it."""
    return [ModelKind(NAME, open=open_perception, downloads={name: _adder(name) for name in DOWNLOADS})]


def _adder(name: str) -> Callable[[str], Awaitable[Sequence[str]]]:
    async def add(folder: str) -> Sequence[str]:
        return [str(path) for path in await add_models(name, Path(folder))]

    return add
