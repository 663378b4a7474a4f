"""The built-in perception: small networks in a worker process, as a model that fills a closed vocabulary."""

from siteward.sdk import ModelKind, hookimpl

from .perception import NAME, open_perception

__all__ = ["siteward_models"]


@hookimpl
def siteward_models() -> list[ModelKind]:
    """The perception, as a site's configuration names it."""
    return [ModelKind(NAME, open=open_perception)]
