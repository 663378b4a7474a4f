"""The one guard between the engine and the host's own steps: whatever they raise becomes an answer, and nothing hangs. What they call of integrations
runs under `plugins.guard`, which leaves behind what does not listen."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from typing import Final

from siteward.core.engine.seam import Failed, Outcome
from siteward.core.errors import SitewardError

_log = logging.getLogger(__name__)

STEP_SECONDS: Final = 900.0
"""No step may take longer before it ends or parks; AI steps have their own, shorter bound."""


async def call_step(step: Awaitable[Outcome], *, quick: bool = False) -> Outcome:
    """The step's answer; `Failed` where it raised or did not end in time. A `quick` step asks only what has bounds of its own, and needs no
    timer."""
    try:
        if quick:
            return await step
        async with asyncio.timeout(STEP_SECONDS):
            return await step
    except SitewardError as error:
        return Failed(error.code, error.sentence)
    except TimeoutError:
        return Failed("step.timeout", f"The step did not end within {STEP_SECONDS:.0f} seconds.")
    except Exception as error:  # noqa: BLE001 (the edge to code that is not ours: it may raise anything)
        _log.exception("A step raised what no step may raise.")
        return Failed(
            "step.broken", f"The step broke ({type(error).__name__}): see the log, and report it to who made it."
        )
