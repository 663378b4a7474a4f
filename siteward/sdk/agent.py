"""The AI-step library for authors: specs, bounds, tools, and `run_look`. It needs a model and nothing else of a site."""

from siteward.core.agent import *  # noqa: F403 (the library's own `__all__` is this module's)
from siteward.core.agent import __all__ as __all__
