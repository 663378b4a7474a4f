"""Who allows a move: the judgement of one move on one path, shared by the validator, `explain` and the severity cap."""

from __future__ import annotations

from dataclasses import dataclass

from .document import Path, Step, Value
from .flow import MoveUse
from .flow_conditions import names_read, sole_name
from .flow_moves import target_key
from .flow_state import PERSONS, Grant, GrantKind, Point, Quiet, Silence
from .registry import SiteView


@dataclass(frozen=True, slots=True)
class Judgement:
    """What allows a move, or the code of why it may not be. `unseen` are the AI values in it that nobody was shown; `asks` the question or call
    that the problem lies with."""

    grants: tuple[Grant, ...] = ()
    code: str | None = None
    unseen: tuple[str, ...] = ()
    asks: Path | None = None


_SILENT = {
    Silence.NO_ANSWER: "safety.no_answer_moves",
    Silence.DEFAULT: "safety.default_moves",
    Silence.UNCONFIRMED: "safety.unconfirmed_call",
}


def judge(use: MoveUse, site: SiteView | None = None) -> Judgement:
    """Judge one move by the data flow before it."""
    point = use.visit.point
    if use.visit.context is not None:
        return Judgement(code="safety.default_moves", asks=use.visit.context)
    standing = standing_grants(point)
    if point.quiet is not None:
        return Judgement(code=_SILENT[point.quiet.silence], asks=point.quiet.path)
    if point.past_quiet is not None and standing:
        return _silent_before(point.past_quiet)
    if not standing:
        return Judgement(code=_unguarded(point))
    listed = tuple(grant for grant in standing if _list_accepted(grant, use, site))
    if not listed:
        return Judgement(code="safety.list_not_allowed")
    read = tuple(name for name in names_read(use.step.settings) if point.ai_names((name,)))
    covering = tuple(grant for grant in listed if _covers(grant, read, use))
    if not covering:
        asking = next((grant for grant in reversed(listed) if grant.kind in PERSONS), None)
        unseen = tuple(name for name in read if asking is None or name not in asking.shown)
        return Judgement(code="safety.ai_argument", unseen=unseen, asks=asking.path if asking else None)
    return Judgement(grants=covering)


def standing_grants(point: Point) -> tuple[Grant, ...]:
    """The authorities in force at a point, silences aside: a person whom AI did not overrule, an identity, and any rule while AI said nothing."""
    return tuple(grant for grant in point.grants if _stands(grant, point))


def lifts_cap(point: Point) -> bool:
    """Whether an alert here is no longer AI's own word: no AI before, a person's answer after it, or an identity."""
    return not point.ai or any(grant.kind is not GrantKind.RULE for grant in standing_grants(point))


def _stands(grant: Grant, point: Point) -> bool:
    if grant.kind in PERSONS:
        return not grant.overruled
    return grant.kind is GrantKind.AUTHORISING or not point.ai


def _silent_before(past: Quiet) -> Judgement:
    """A silence whose lane has ended; it is no default's lane any more."""
    silence = Silence.NO_ANSWER if past.silence is Silence.DEFAULT else past.silence
    return Judgement(code=_SILENT[silence], asks=past.path)


def _unguarded(point: Point) -> str:
    if point.in_always and not point.grants:
        return "safety.always_unguarded"
    return "safety.ai_unguarded" if point.ai else "safety.no_guard"


def _list_accepted(grant: Grant, use: MoveUse, site: SiteView | None) -> bool:
    """With a site, the lists of an identity must be ones that the site accepts for this target, wherever AI came before."""
    if grant.kind is not GrantKind.AUTHORISING or site is None or not use.visit.point.ai:
        return True
    accepted = [site.authority_lists.get(key, frozenset()) for key in possible_targets(use)]
    return any(all(way <= lists for lists in accepted) and (bool(accepted) or not way) for way in grant.ways)


def possible_targets(use: MoveUse) -> tuple[str, ...]:
    """The targets of a move as the site names them; none where a value of the run decides."""
    action, settings = use.action, use.step.settings
    if action.target is None:
        return ()
    texts = target_texts(use.step, action.target, use.visit.point)
    keys = [target_key(action, {**settings, action.target: text}) for text in texts]
    known = tuple(key for key in keys if key is not None)
    return known if len(known) == len(keys) else ()


def target_texts(step: Step, setting: str, point: Point) -> tuple[str, ...]:
    """What a setting can say: the author's text, or, for one placeholder, the values that the file itself lists for it, else the text as
    written."""
    value: Value = step.settings.get(setting)
    name = sole_name(value)
    if name is not None:
        texts = point.label(name).texts
        if texts is not None:
            return texts
    return (str(value),) if value is not None else ("",)


def _covers(grant: Grant, read: tuple[str, ...], use: MoveUse) -> bool:
    """Whether whoever allows the move saw every AI value in it. A callee whom AI looked up allows that row's own door and no other."""
    if grant.row is not None:
        own = f"{grant.row}.row"
        target = sole_name(use.step.settings.get(use.action.target or ""))
        if target is None or not _within(target, own):
            return False
        read = tuple(name for name in read if not _within(name, own))
    return not read or (grant.kind in PERSONS and frozenset(read) <= grant.shown)


def _within(name: str, row: str) -> bool:
    return name.startswith(f"{row}.")
