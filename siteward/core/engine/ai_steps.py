"""What AI decides in a file: where two versions differ in it, the newer one has to show itself in Test before it acts."""

from __future__ import annotations

import json
from collections.abc import Mapping

from siteward.core.contract.document import Document, Step, Value
from siteward.core.contract.registry import Registry
from siteward.core.engine.plan import every_step


def what_ai_decides(document: Document, registry: Registry) -> tuple[str, ...]:
    """Each step whose outcome is a model's word, in the order of the file: its kind, its settings (the question, the decisions, the rules)
    and the outcomes that have a lane. What its lanes do, and where in the file it stands, is no word of a model. As text, which tells 1 from true."""
    return tuple(_as_text(step) for step in every_step(document) if _is_ai(step, registry))


def _is_ai(step: Step, registry: Registry) -> bool:
    known = registry.step_kinds.get(step.kind)
    return step.kind == "ai" or (known is not None and known.ai)


def _as_text(step: Step) -> str:
    outcomes = sorted(lane.outcome for lane in step.lanes)
    return json.dumps([step.kind, step.settings, outcomes], sort_keys=True, default=_plain)


def _plain(value: Value) -> object:
    return dict(value) if isinstance(value, Mapping) else str(value)
