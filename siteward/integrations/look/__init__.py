"""The mode `look` of the AI step."""

from siteward.sdk import AiMode, hookimpl

from .mode import look

__all__ = ["siteward_ai_modes"]


@hookimpl
def siteward_ai_modes() -> list[AiMode]:
    """Look, as a workflow names it."""
    return [AiMode("look", run=look)]
