"""`if`: a plain rule. Its lanes carry what the rule rests on, by the same reading as the validator's."""

from __future__ import annotations

from siteward.core.contract.document import Step
from siteward.core.contract.flow_conditions import asks_ai
from siteward.core.engine.judging import ConditionFailed, ai_read, authority_of, judge
from siteward.core.engine.seam import Done, Failed, Outcome, RunView, Wake
from siteward.core.errors import SitewardError

TRUE = "true"
FALSE = "false"


class IfStep:
    """Asks the conditions of a step (or of the whole workflow) and takes the lane `true` or `false`."""

    async def start(self, step: Step, run: RunView) -> Outcome:
        values, skills = run.values, run.skills
        # Something moves on the lane: a list then counts only by rows that a person stands for.
        moves = bool(run.moves_on(step, TRUE))
        try:
            judgement = await judge(step.conditions, values, run.conditions(), skills, confirmed_only=moves)
        except ConditionFailed as failed:
            return Failed(failed.code, failed.sentence)
        except SitewardError as error:
            return Failed(error.code, f"A condition could not be asked. {error.sentence}")
        outcome = TRUE if judgement.holds else FALSE
        authority = authority_of(
            step.conditions,
            values,
            holds=judgement.holds,
            path=run.step_path,
            lane=outcome,
            at=run.clock.now(),
            boot=run.clock.since_boot(),
        )
        return Done(
            outcome=outcome,
            result={"holds": judgement.holds, "decided": judgement.said, "path": list(judgement.path)},
            authority=authority,
            ai=asks_ai(step.conditions, skills.registry),
            ai_read=ai_read(step.conditions, values),
        )

    async def resume(self, step: Step, run: RunView, wake: Wake) -> Outcome:
        return await self.start(step, run)
