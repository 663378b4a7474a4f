"""What stands where in a site's folder."""

from __future__ import annotations

from pathlib import Path
from typing import Final

CONFIGURATION: Final = "configuration.yaml"
DATABASE: Final = "siteward.db"
BLUEPRINTS: Final = "blueprints"
WORKFLOWS: Final = "workflows"
MODELS: Final = "models"
"""Model files that were added; the embedded perception looks for them under this name too."""


def database_url(folder: Path, configured: str) -> str:
    """Where the site's database is: the address in its configuration, else the file in its folder."""
    return configured or f"sqlite:///{folder / DATABASE}"
