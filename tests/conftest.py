"""What every test shares: in CI the generated examples are the same each time, so that a red run can be repeated."""

from __future__ import annotations

import os

from hypothesis import settings

pytest_plugins = ("tests.postgres",)

settings.register_profile("repeatable", derandomize=True, database=None)
if os.environ.get("CI"):
    settings.load_profile("repeatable")
