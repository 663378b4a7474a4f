"""A step kind that an integration brings: it looks and answers, and never acts."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import partial
from typing import Final

from siteward.core.contract.document import Step
from siteward.core.contract.provenance import least_trusted
from siteward.core.contract.registry import Provenance, StepKindSpec
from siteward.core.engine.parts import Parts
from siteward.core.engine.seam import Done, Failed, Labelled, Outcome
from siteward.core.engine.values import plain, resolve_settings
from siteward.core.errors import SitewardError
from siteward.core.plugins.guard import Hung, Raised, Worked, attempt_async
from siteward.core.plugins.objects import ThirdPartyStep

_log = logging.getLogger(__name__)

SECONDS: Final = 60.0


async def run_third_party(parts: Parts, step: Step, values: Mapping[str, Labelled]) -> Outcome:
    """Run it and label what it gives by its manifest: a value that the manifest does not name is AI's."""
    spec, kind = parts.skills.registry.step_kinds.get(step.kind), parts.skills.step_kinds.get(step.kind)
    if spec is None or kind is None:
        return Failed("skill.missing", f"Nobody provides {step.kind} now.")
    try:
        settings = resolve_settings(step.settings, values)
    except SitewardError as unknown:
        return Failed(unknown.code, unknown.sentence)
    match await attempt_async(partial(kind.run, plain(settings), parts.host), SECONDS):
        case Worked(value=answer):
            return _labelled(step, spec, settings, answer)
        case Hung():
            return Failed("step.timeout", f"{step.kind} did not end within {SECONDS:.0f} seconds.")
        case Raised(error=SitewardError() as error):
            return Failed(error.code, error.sentence)
        case Raised(error=error):
            _log.error("The step kind %s raised what no step may raise.", step.kind, exc_info=error)
            return Failed("step.broken", f"{step.kind} broke ({type(error).__name__}).")


def _labelled(step: Step, spec: StepKindSpec, settings: Mapping[str, Labelled], answer: ThirdPartyStep) -> Outcome:
    if answer.outcome is not None and answer.outcome not in spec.outcomes:
        return Failed("step.broken", f"{step.kind} answered {answer.outcome}, which its manifest does not list.")
    read = least_trusted(setting.provenance for setting in settings.values())
    names = frozenset(
        name for setting in settings.values() if setting.provenance is Provenance.AI for name in setting.names
    )
    labelled = {name: Labelled(value, _provenance(spec, name, read)) for name, value in answer.values.items()}
    return Done(answer.outcome, labelled, ai=spec.ai, ai_read=names)


def _provenance(spec: StepKindSpec, name: str, read: Provenance) -> Provenance:
    """A value is never more trusted than what it was made from."""
    if spec.ai:
        return Provenance.AI
    own = next((given.provenance for given in spec.gives if given.name == name), Provenance.AI)
    return least_trusted((own, read))
