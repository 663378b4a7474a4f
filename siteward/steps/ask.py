"""`ask_person`: a question with reply buttons. A reply is a person's word and authorises its lane; silence and a default never do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from siteward.core.contract.document import Step, Value
from siteward.core.contract.durations import parse_duration
from siteward.core.contract.registry import Provenance
from siteward.core.engine.authority import REPLY, Refused, may_ask
from siteward.core.engine.seam import (
    Authority,
    Done,
    Failed,
    Labelled,
    Mode,
    NewApproval,
    NewWait,
    Outcome,
    Park,
    RunView,
    StepStatus,
    Wake,
    WakeKind,
)
from siteward.core.engine.values import MissingValue, as_text, lookup, resolve, shown_by

from .several import several

DEFAULT_TIMEOUT: Final = "5m"
"""How long a question stays open where the file does not say."""

NO_ANSWER: Final = "no_answer"
ESCALATE: Final = "escalate"
ASK: Final = "ask"


@dataclass(frozen=True, slots=True)
class Question:
    """A question as it is put to people: whom, what, the reply buttons, and what each would move."""

    who: tuple[str, ...]
    message: str
    replies: tuple[str, ...]
    default: str | None
    moves: Mapping[str, tuple[str, ...]]
    shown: Mapping[str, Labelled]
    escalations: tuple[tuple[int, tuple[str, ...]], ...]
    timeout: int

    @property
    def silent(self) -> str:
        """The lane that is taken where nobody answers."""
        return self.default or NO_ANSWER

    def buttons(self) -> tuple[dict[str, Any], ...]:
        """Each reply with what it would move, for the page and the inbox."""
        return tuple({"reply": reply, "moves": list(self.moves[reply])} for reply in self.replies)


class AskPersonStep:
    """Asks, waits, and takes the lane of the reply."""

    async def start(self, step: Step, run: RunView) -> Outcome:
        try:
            question = _question(step, run)
        except MissingValue as missing:
            return Failed(missing.code, missing.sentence)
        if isinstance(question, Refused):
            return Failed(question.code, question.sentence, StepStatus.REFUSED)
        if run.mode is not Mode.ON:
            return _not_asked(question)
        return _ask(question, run)

    async def resume(self, step: Step, run: RunView, wake: Wake) -> Outcome:
        if wake.kind is WakeKind.REPLY and wake.reply is not None and wake.by:  # nobody's word is no word
            return _answered(step, run, wake, wake.reply)
        if wake.wait.kind == ESCALATE:
            who = tuple(str(one) for one in wake.wait.payload.get("who", ()))
            return Park((), escalate=who, result={"escalated_to": list(who)})
        outcome = str(step.settings.get("default") or NO_ANSWER)
        return Done(outcome, _gives(outcome, wake, who=step.settings["who"]), {"outcome": outcome}, unanswered=True)


def _question(step: Step, run: RunView) -> Question | Refused:
    settings = step.settings
    who = resolve(settings["who"], run.values)
    replies = resolve(settings["replies"], run.values)
    rows = [row for row in several(settings.get("escalate", ())) if isinstance(row, Mapping)]
    later = [(parse_duration(str(row["after"])), resolve(row["who"], run.values)) for row in rows]
    refused = may_ask((who, replies, *(people for _, people in later)))
    if refused is not None:
        return refused
    message, attach = settings["message"], settings.get("attach")
    names = tuple(as_text(one) for one in several(replies.value))
    default = settings.get("default")
    return Question(
        who=_people(who),
        message=as_text(resolve(message, run.values).value),
        replies=names,
        default=None if default is None else str(default),
        moves={reply: run.moves_on(step, reply) for reply in names},
        shown={name: lookup(name, run.values) for name in sorted(shown_by(message, attach))},
        escalations=tuple((after, _people(people)) for after, people in later),
        timeout=parse_duration(str(settings.get("timeout") or DEFAULT_TIMEOUT)),
    )


def _ask(question: Question, run: RunView) -> Park:
    now = run.clock.now()
    due = now + timedelta(seconds=question.timeout)
    waits = [NewWait(ASK, due)]
    for after, who in question.escalations:
        # Nobody is asked when the time is over anyway.
        if after < question.timeout:
            waits.append(NewWait(ESCALATE, now + timedelta(seconds=after), {"who": list(who)}))
    approval = NewApproval(
        who=question.who,
        message=question.message,
        replies=question.buttons(),
        default=question.default,
        due=due,
        picture=run.event.picture,
        shown=question.shown,
    )
    return Park(tuple(waits), approval, result={"asked": question.message, "who": list(question.who)})


def _not_asked(question: Question) -> Done:
    """Outside On nobody is disturbed: the silent lane is taken at once, and the row says what each reply would have done."""
    result = {
        "would_have_asked": question.message,
        "who": list(question.who),
        "replies": list(question.buttons()),
        "outcome": question.silent,
    }
    values = _gives(question.silent, None, who=question.who)
    return Done(question.silent, values, result, status=StepStatus.WOULD_HAVE, unanswered=True)


def _answered(step: Step, run: RunView, wake: Wake, reply: str) -> Outcome:
    settings = step.settings
    replies = [as_text(one) for one in several(resolve(settings["replies"], run.values).value)]
    if reply not in replies:
        return Failed("ask.unknown_reply", f'"{reply}" is none of the replies {", ".join(replies)}; nothing was done.')
    authority = Authority(
        REPLY,
        path=run.step_path,
        lane=reply,
        at=wake.at,
        boot=wake.boot,
        by=wake.by,
        shown=shown_by(settings["message"], settings.get("attach")),
    )
    result = {"reply": reply, "by": wake.by, "note": wake.note}
    return Done(reply, _gives(reply, wake, who=settings["who"]), result, authority=authority)


def _gives(outcome: str, wake: Wake | None, *, who: Value) -> dict[str, Labelled]:
    """What later steps know of the answer: `{ask.reply}`, `{ask.by}`, `{ask.note}`, `{ask.at}`."""
    said = {
        "reply": outcome,
        "who": as_text(who),
        "by": wake.by if wake is not None and wake.by else "nobody",
        "note": wake.note if wake is not None and wake.note else "",
        "at": None if wake is None else wake.at.isoformat(timespec="seconds"),
    }
    return {name: Labelled(value, Provenance.PERSON) for name, value in said.items()}


def _people(who: Labelled) -> tuple[str, ...]:
    return tuple(as_text(one) for one in several(who.value))
