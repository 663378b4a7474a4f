"""From the step's request to `run_look` and back: pictures, model, bounds, tables, and the answer in the engine's words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from siteward.sdk import AiAnswer, AiLimits, AiRequest
from siteward.sdk.agent import (
    UNSURE,
    Decision,
    Image,
    Limits,
    LLMClient,
    StepSpec,
    UnsureReason,
    run_look,
    spec_of,
)

from .inputs import Shown, shown, wants_pictures
from .tables import tables_for


async def look(request: AiRequest) -> AiAnswer:
    """Decide one step. It never raises for what a model, a camera or a picture does: it answers `unsure` and says why."""
    try:
        step = spec_of(request.settings, request.values)
        limits = _limits(request.limits, gpu=request.gpu)
    except (TypeError, ValueError) as error:
        return _refused(UnsureReason.ERROR, f"The step cannot be read: {error}")
    pictures = wants_pictures(request)
    seen = await shown(request) if pictures else Shown()
    model = request.vision if pictures else request.text
    if model is None:
        kind = "vision" if pictures else "language"
        return _refused(UnsureReason.LLM_DOWN, f"The site has no {kind} model.", seen)
    decision = await _decide(request, step, limits, model, seen, needs_picture=pictures)
    if seen.missing and decision.unsure_reason is UnsureReason.NO_EVIDENCE and not seen.pictures:
        decision = replace(decision, reason=seen.missing)
    return _answer(decision, step, seen)


async def _decide(
    request: AiRequest, step: StepSpec, limits: Limits, model: LLMClient, seen: Shown, *, needs_picture: bool
) -> Decision:
    event = {"event_type": request.event.type, "event_time": request.event.at.isoformat()}
    return await run_look(
        model,
        step.spec,
        prompt=str(request.settings.get("prompt", "")),
        inputs={**event, **request.values},
        images=[Image(picture.data, picture.content_type) for picture in seen.pictures],
        limits=limits,
        site_facts=request.site_facts,
        memory=request.memory,
        seed=request.seed,
        tables=tables_for(model.capabilities.digest, step.spec),
        budget=request.budget,
        needs_picture=needs_picture,
        clock=request.host.clock.since_boot,
        now=lambda: request.host.clock.now().timestamp(),
    )


def _limits(written: AiLimits, *, gpu: bool) -> Limits:
    """The preset of the site's hardware, with what the step says instead."""
    preset = Limits.gpu() if gpu else Limits.cpu()
    said = {name: value for name, value in asdict(written).items() if value is not None}
    return replace(preset, **said)


def _answer(decision: Decision, step: StepSpec, seen: Shown) -> AiAnswer:
    fields = {name: list(value) if isinstance(value, tuple) else value for name, value in decision.fields.items()}
    confidence = None if decision.confidence is None else round(decision.confidence, 4)
    columns: dict[str, Any] = {
        "reason": decision.reason,
        "confidence": confidence,
        "confidence_source": decision.confidence_source.value or None,
        "self_reported": decision.self_reported,
        "unsure_reason": decision.unsure_reason.value if decision.unsure_reason else None,
        "rule": decision.rule,
        "model": decision.model,
        "model_digest": decision.model_digest,
        "usage": {**asdict(decision.usage), "model_digest": decision.model_digest, "proposed": decision.proposed},
    }
    return AiAnswer(
        outcome=decision.decision,
        values={"decision": decision.decision, "reason": decision.reason, "confidence": confidence, **fields},
        columns=columns,
        calls=tuple(row.as_row() for row in decision.trace),
        picture=seen.media_id,
        backstops=step.backstops,
        uncalibrated=not decision.calibrated,
    )


def _refused(reason: UnsureReason, sentence: str, seen: Shown | None = None) -> AiAnswer:
    """The answer of a step that never came to ask a model."""
    values: Mapping[str, Any] = {"decision": UNSURE, "reason": sentence, "confidence": None}
    return AiAnswer(
        outcome=UNSURE,
        values=values,
        columns={"reason": sentence, "unsure_reason": reason.value},
        picture=seen.media_id if seen else None,
        uncalibrated=True,
    )
