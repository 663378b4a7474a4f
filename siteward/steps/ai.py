"""`ai`: hands a request to the mode that an integration registered, and turns its answer into a lane and labelled values.

An AI step never fails a run: whatever happens around the model, the answer is `unsure` with a reason, and the `unsure` lane runs.
Everything that it gives is AI's, also what the host filled in: a rule of the step may have chosen among it.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, Final

from siteward.core.contract.document import Step, Value
from siteward.core.contract.registry import Provenance
from siteward.core.engine.seam import AiSurroundings, Done, Labelled, Mode, Outcome, RunView, Wake
from siteward.core.engine.values import plain
from siteward.core.errors import SitewardError
from siteward.core.plugins.guard import Hung, Raised, Worked, attempt_async
from siteward.core.plugins.objects import AiAnswer, AiLimits, AiMode, AiRequest, Record

_log = logging.getLogger(__name__)

UNSURE: Final = "unsure"
OVER_BUDGET: Final = "over_budget"
ERROR: Final = "error"
LIMIT_NAMES: Final = ("tool_calls", "model_calls", "seconds", "tokens")
LONGEST_SECONDS: Final = 600.0
"""No AI step takes longer, whatever its file says."""
SPARE_SECONDS: Final = 15.0
"""What a mode gets beyond its own limit to end by itself."""
DEFAULT_SECONDS: Final = 120.0
"""The bound from outside where the file sets none: the longest preset of a mode."""

NOT_MEASURED: Final = "not measured"
"""How a confidence that has no figure reads."""


class AiStep:
    """Runs the mode and takes the lane of its decision, or `unsure`."""

    async def start(self, step: Step, run: RunView) -> Outcome:
        answer = await _decide(step, run)
        if answer.outcome != UNSURE and answer.outcome not in _decisions(step):
            answer = _unsure(ERROR, f"The mode decided {answer.outcome}, which this step does not list.", answer)
        return _done(step, answer)

    async def resume(self, step: Step, run: RunView, wake: Wake) -> Outcome:
        return await self.start(step, run)


async def _decide(step: Step, run: RunView) -> AiAnswer:
    mode = run.skills.ai_modes.get(str(step.settings.get("mode")))
    if mode is None:
        return _unsure(ERROR, f"Nobody provides the AI mode {step.settings.get('mode')}.")
    try:
        around = await run.ai_surroundings(step)
    except SitewardError as error:
        return _unsure(ERROR, error.sentence)
    if around.calls_left is not None and around.calls_left <= 0:
        return _unsure(OVER_BUDGET, "The workflow has used its AI calls of this hour.")
    request = _request(step, run, around)
    return await _ask(mode, request)


async def _ask(mode: AiMode, request: AiRequest) -> AiAnswer:
    seconds = min(request.limits.seconds or DEFAULT_SECONDS, LONGEST_SECONDS) + SPARE_SECONDS
    match await attempt_async(partial(mode.run, request), seconds):
        case Worked(value=answer):
            return answer
        case Hung():
            return _unsure(OVER_BUDGET, f"The mode {mode.name} did not answer within {seconds:.0f} seconds.")
        case Raised(error=SitewardError() as error):
            return _unsure(ERROR, error.sentence)
        case Raised(error=error):
            # A third party's mode; the promise that no AI step fails a run is kept here.
            _log.error("The AI mode %s raised, which no mode may.", mode.name, exc_info=error)
            return _unsure(ERROR, f"The mode {mode.name} broke ({type(error).__name__}).")


def _request(step: Step, run: RunView, around: AiSurroundings) -> AiRequest:
    settings = {name: _listed(value) for name, value in step.settings.items() if name not in ("limits", "mode")}
    return AiRequest(
        settings=MappingProxyType(settings),
        values=MappingProxyType(plain(run.values)),
        event=run.event,
        host=around.host,
        vision=around.vision,
        text=around.text,
        seed=around.seed,
        limits=_limits(step.settings.get("limits"), around.calls_left),
        cameras=around.cameras,
        stored_only=run.mode in (Mode.TRY, Mode.REPLAY),
        gpu=around.gpu,
        site_facts=around.site_facts,
        memory=around.memory,
    )


def _limits(written: Value, calls_left: int | None) -> AiLimits:
    """The step's own limits, its model calls never above what is left of the hour."""
    numbers: dict[str, Any] = {}
    if isinstance(written, Mapping):
        numbers = {name: written[name] for name in LIMIT_NAMES if name in written}
    limits = AiLimits(**numbers)
    if calls_left is None:
        return limits
    calls = calls_left if limits.model_calls is None else min(limits.model_calls, calls_left)
    return replace(limits, model_calls=calls)


def _listed(value: Value) -> Any:
    """A setting as plain JSON."""
    if isinstance(value, tuple | list):
        return [_listed(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _listed(item) for key, item in value.items()}
    return value


def _unsure(reason: str, sentence: str, answer: AiAnswer | None = None) -> AiAnswer:
    """The answer of a step that cannot decide. The trace of what was tried stays."""
    columns = {**(answer.columns if answer is not None else {}), "unsure_reason": reason, "reason": sentence}
    return AiAnswer(
        outcome=UNSURE,
        values={"decision": UNSURE, "reason": sentence, "confidence": None},
        columns=columns,
        calls=answer.calls if answer is not None else (),
        picture=answer.picture if answer is not None else None,
    )


def _done(step: Step, answer: AiAnswer) -> Done:
    given: dict[str, Any] = {**dict.fromkeys(_fields(step)), **answer.values, "decision": answer.outcome}
    if given.get("confidence") is None:
        given["confidence"] = NOT_MEASURED
    given.setdefault("reason", "")
    result = {
        "decision": answer.outcome,
        "values": given,
        "picture": answer.picture,
        "backstops": dict(answer.backstops),
        "uncalibrated": answer.uncalibrated,
    }
    return Done(
        outcome=answer.outcome,
        values={name: Labelled(value, Provenance.AI) for name, value in given.items()},
        result=result,
        records=_update(step, given),
        ai=True,
        columns=answer.columns,
        calls=answer.calls,
    )


def _decisions(step: Step) -> tuple[Value, ...]:
    listed = step.settings.get("decision")
    return tuple(listed) if isinstance(listed, tuple | list) else (listed,)


def _fields(step: Step) -> tuple[str, ...]:
    """The fields that the step reports: known to later steps also where the model gave none."""
    fields = step.settings.get("fields")
    return tuple(fields) if isinstance(fields, Mapping) else ()


def _update(step: Step, given: Mapping[str, Any]) -> tuple[Record, ...]:
    """The line that joins earlier messages of this run which wait for this step (`update_with`)."""
    if step.id is None or not given["reason"]:
        return ()
    return (Record("update", {"update_with": step.id, "message": given["reason"]}),)
