"""What stands where in a site's folder."""

from __future__ import annotations

from typing import Final

CONFIGURATION: Final = "configuration.yaml"
DATABASE: Final = "siteward.db"
BLUEPRINTS: Final = "blueprints"
WORKFLOWS: Final = "workflows"
MODELS: Final = "models"
"""Model files that were added; the embedded perception looks for them under this name too."""
