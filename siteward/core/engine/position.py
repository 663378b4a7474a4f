"""Where a run stands: everything that is needed to go on with it, as plain data that its row carries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from types import MappingProxyType

from siteward.core.contract.document import Step
from siteward.core.engine import authority as authorities
from siteward.core.engine.limits import Presence
from siteward.core.engine.plan import ALWAYS, THEN, Plan
from siteward.core.engine.seam import JSON, Authority, Done, Iterate, Labelled, NewWait, RunState, Trail, WakeKind
from siteward.core.engine.values import from_json, to_json, values_from_json, values_to_json

_NOTHING: Mapping[str, Labelled] = MappingProxyType({})
_NO_TRAIL = Trail()
_NOBODY = Presence(None)


@dataclass(frozen=True, slots=True)
class Loop:
    """A `for_each` under way: its items, which of them the body has now, and the name that it has there."""

    name: str
    items: tuple[Labelled, ...]
    at: int = 0


@dataclass(frozen=True, slots=True)
class Frame:
    """A lane that the run stands in. `lane` names it in the plan, `path` in this run (iterations included); `index` is the step that runs
    now; `outer` is the trail outside of it, to which the run returns."""

    lane: str
    path: str
    index: int = 0
    outer: Trail = _NO_TRAIL
    loop: Loop | None = None

    def next(self) -> Frame:
        """The lane at its next step."""
        return Frame(self.lane, self.path, self.index + 1, self.outer, self.loop)


@dataclass(frozen=True, slots=True)
class WakeNote:
    """Why a parked run goes on, as committed with the wake. The event is named; its row has the rest."""

    kind: WakeKind
    wait: NewWait
    at: float
    boot: float | None = None
    reply: str | None = None
    by: str | None = None
    note: str | None = None
    event_id: str | None = None


@dataclass(frozen=True, slots=True)
class Position:
    """A run between two steps. `verdict` and `reason` are set where its path stopped early; then only `always` is left. `given` are the
    names that the trigger gave, `looked_at` the picture on which an AI step decided last (a media id), `boot` when the run began, by the clock that
    counts sleep."""

    frames: tuple[Frame, ...]
    values: Mapping[str, Labelled] = field(default_factory=lambda: _NOTHING)
    trail: Trail = _NO_TRAIL
    seq: int = 0
    in_always: bool = False
    verdict: RunState | None = None
    reason: str | None = None
    wake: WakeNote | None = None
    presence: Presence = _NOBODY
    given: frozenset[str] = frozenset()
    looked_at: str | None = None
    boot: float | None = None

    def current(self, plan: Plan) -> tuple[Step, str] | None:
        """The step that runs now and its path in this run; None at the end."""
        if not self.frames:
            return None
        top = self.frames[-1]
        return plan.lanes[top.lane][top.index], f"{top.path}.{top.index}"

    def after(self, step: Step, path: str, done: Done, plan: Plan) -> Position:
        """The position after a step that ended well: into the lane of its outcome, or on to the next step."""
        looked_at = self.looked_at
        if step.kind == "ai" and done.result.get("picture") is not None:
            looked_at = str(done.result["picture"])
        here = self._passed(trail_after(done, self.trail), looked_at)._knowing(_names_of(step, done, self.given))
        key = f"{step.plan_path}/{done.outcome}"
        if done.outcome is not None and key in plan.lanes:
            outer = here.trail
            inner = outer if done.authority is None else authorities.enter(outer, self._since_the_event(done.authority))
            return here._at(here.frames, here.values, inner)._into(
                Frame(key, f"{path}/{done.outcome}", outer=outer), plan
            )
        if step.kind in ASKING:
            # An answer that the author wrote no lane for ends the path: what follows the question is not for it.
            return here._at((), here.values, here.trail)._settled(plan)
        return here._next(plan)

    def _since_the_event(self, given: Authority) -> Authority:
        """What a rule allows is as old as what it judged: it is not made young by being asked again after a power cut."""
        return given if given.kind in authorities.PERSONS or self.boot is None else replace(given, boot=self.boot)

    def over(self, step: Step, path: str, iterate: Iterate, plan: Plan) -> Position:
        """The position at the first item of a `for_each`, or after it where there are none."""
        here = self._passed(trail_after(iterate, self.trail), self.looked_at)
        key = f"{step.plan_path}/do"
        if not iterate.items or key not in plan.lanes:
            return here._next(plan)
        loop = Loop(iterate.name, iterate.items)
        frame = Frame(key, f"{path}/do[0]", outer=here.trail, loop=loop)
        return here._knowing({iterate.name: iterate.items[0]})._into(frame, plan)

    def stopped(self, verdict: RunState, reason: str, plan: Plan) -> Position:
        """The position after the path stopped: at `always`, or at the end. The first verdict stays."""
        stopped = replace(
            self,
            frames=(),
            wake=None,
            seq=self.seq + 1,
            verdict=self.verdict or verdict,
            reason=self.reason or reason,
        )
        return stopped._settled(plan)

    def _knowing(self, names: Mapping[str, Labelled]) -> Position:
        """With further names. What a person saw under a name that now means something else was not shown."""
        if not names:
            return self
        return self._at(self.frames, {**self.values, **names}, _unseen(self.trail, frozenset(names)))

    def _passed(self, trail: Trail, looked_at: str | None) -> Position:
        """The same place with one step more behind it."""
        return Position(
            self.frames,
            self.values,
            trail,
            self.seq + 1,
            self.in_always,
            self.verdict,
            self.reason,
            None,
            self.presence,
            self.given,
            looked_at,
            self.boot,
        )

    def _at(self, frames: tuple[Frame, ...], values: Mapping[str, Labelled], trail: Trail) -> Position:
        """The same run at another place."""
        return Position(
            frames,
            values,
            trail,
            self.seq,
            self.in_always,
            self.verdict,
            self.reason,
            self.wake,
            self.presence,
            self.given,
            self.looked_at,
            self.boot,
        )

    def _into(self, frame: Frame, plan: Plan) -> Position:
        return self._at((*self.frames, frame), self.values, self.trail)._settled(plan)

    def _next(self, plan: Plan) -> Position:
        frames = (*self.frames[:-1], self.frames[-1].next())
        return self._at(frames, self.values, self.trail)._settled(plan)

    def _settled(self, plan: Plan) -> Position:
        """Out of every lane that is through, into the next item of a loop, and at the very end into `always`."""
        position = self
        while position.frames:
            top = position.frames[-1]
            if top.index < len(plan.lanes[top.lane]):
                return position
            position = position._left(top)
        if position.in_always or not plan.lanes[ALWAYS]:
            return position
        trail = authorities.begin_always(position.trail)
        return replace(position, frames=(Frame(ALWAYS, ALWAYS, outer=trail),), in_always=True, trail=trail)

    def _left(self, top: Frame) -> Position:
        outer, loop = self.frames[:-1], top.loop
        trail = authorities.leave(top.outer, self.trail)
        if loop is not None and loop.at + 1 < len(loop.items):
            at = loop.at + 1
            path = f"{top.path[: top.path.rindex('[')]}[{at}]"
            again = replace(top, path=path, index=0, outer=trail, loop=replace(loop, at=at))
            return self._at((*outer, again), self.values, trail)._knowing({loop.name: loop.items[at]})
        values = self.values
        if loop is not None:
            values = {name: value for name, value in values.items() if name != loop.name}
        if outer:
            outer = (*outer[:-1], outer[-1].next())
        return self._at(outer, values, trail)


ASKING = ("ask_person", "call")
"""Step kinds whose outcomes are answers."""


def trail_after(said: Done | Iterate, trail: Trail) -> Trail:
    """The trail after a step: an AI spoke, or a rule or a loop read what one said; nobody answered."""
    if said.ai:
        trail = authorities.ai_spoke(trail)
    elif said.ai_read:
        trail = authorities.ai_spoke(trail, said.ai_read)
    return authorities.silence(trail) if isinstance(said, Done) and said.unanswered else trail


def _names_of(step: Step, done: Done, given: frozenset[str]) -> dict[str, Labelled]:
    """What later steps know of a step: under its id, and of an AI step (the nearest one counts) also by the bare name, which never hides
    one that the trigger gave."""
    names: dict[str, Labelled] = {}
    for name, value in done.values.items():
        if step.id is not None:
            names[f"{step.id}.{name}"] = value
        if step.kind == "ai" and name not in given:
            names[name] = value
    return names


def _unseen(trail: Trail, names: frozenset[str]) -> Trail:
    kept = tuple(
        (replace(given, shown=frozenset(one for one in given.shown if not _means(one, names))), overruled)
        for given, overruled in trail.authorities
    )
    return replace(trail, authorities=kept)


def _means(seen: str, names: frozenset[str]) -> bool:
    """Whether a name that was shown is one of `names`, or a field of one."""
    while seen:
        if seen in names:
            return True
        seen = seen.rpartition(".")[0]
    return False


def first_position(
    plan: Plan, values: Mapping[str, Labelled], trail: Trail, presence: Presence, boot: float | None = None
) -> Position:
    """Where a met run begins: in `then`. `trail` stands behind the top-level `if`, which gates `then` like a `true` lane."""
    start = Position(
        (Frame(THEN, THEN, outer=trail),), values, trail, presence=presence, given=frozenset(values), boot=boot
    )
    return start._settled(plan)


# -- the row's form ----------------------------------------------------------------------------------------------------
ENDED: Mapping[str, JSON] = MappingProxyType({})
"""What the row of a run that is over carries: nothing goes on from there."""


def position_to_json(position: Position) -> Mapping[str, JSON]:
    """What the run's row carries."""
    if not position.frames:
        return ENDED
    return {
        "frames": [_frame_to_json(frame) for frame in position.frames],
        "values": values_to_json(position.values),
        "trail": trail_to_json(position.trail),
        "seq": position.seq,
        "in_always": position.in_always,
        "verdict": position.verdict,
        "reason": position.reason,
        "wake": None if position.wake is None else _wake_to_json(position.wake),
        "presence": [position.presence.camera, position.presence.plate, position.presence.track],
        "given": sorted(position.given),
        "looked_at": position.looked_at,
        "boot": position.boot,
    }


def position_from_json(row: Mapping[str, JSON]) -> Position:
    """The position out of a run's row."""
    if not row:
        return Position(())
    verdict, wake = row["verdict"], row["wake"]
    return Position(
        frames=tuple(_frame_from_json(frame) for frame in row["frames"]),
        values=values_from_json(row["values"]),
        trail=trail_from_json(row["trail"]),
        seq=row["seq"],
        in_always=row["in_always"],
        verdict=None if verdict is None else RunState(verdict),
        reason=row["reason"],
        wake=None if wake is None else _wake_from_json(wake),
        presence=Presence(*row["presence"]),
        given=frozenset(row["given"]),
        looked_at=row["looked_at"],
        boot=row.get("boot"),
    )


def _frame_to_json(frame: Frame) -> dict[str, JSON]:
    row: dict[str, JSON] = {
        "lane": frame.lane,
        "path": frame.path,
        "index": frame.index,
        "outer": trail_to_json(frame.outer),
    }
    if (loop := frame.loop) is not None:
        row["loop"] = {"name": loop.name, "at": loop.at, "items": [to_json(item) for item in loop.items]}
    return row


def _frame_from_json(row: Mapping[str, JSON]) -> Frame:
    loop = row.get("loop")
    return Frame(
        row["lane"],
        row["path"],
        row["index"],
        trail_from_json(row["outer"]),
        None if loop is None else Loop(loop["name"], tuple(from_json(item) for item in loop["items"]), loop["at"]),
    )


def trail_to_json(trail: Trail) -> dict[str, JSON]:
    """A trail as rows carry it."""
    return {
        "authorities": [[authority_to_json(given), overruled] for given, overruled in trail.authorities],
        "ai_before": trail.ai_before,
        "unanswered": trail.unanswered,
    }


def trail_from_json(row: Mapping[str, JSON]) -> Trail:
    """A trail out of a row."""
    given = tuple((authority_from_json(authority), overruled) for authority, overruled in row["authorities"])
    return Trail(given, row["ai_before"], row["unanswered"])


def authority_to_json(authority: Authority) -> dict[str, JSON]:
    """An authority as rows carry it."""
    return {
        "kind": authority.kind,
        "path": authority.path,
        "lane": authority.lane,
        "at": authority.at.timestamp(),
        "boot": authority.boot,
        "by": authority.by,
        "shown": sorted(authority.shown),
        "lists": [sorted(way) for way in authority.lists],
    }


def authority_from_json(row: Mapping[str, JSON]) -> Authority:
    """An authority out of a row."""
    at = datetime.fromtimestamp(row["at"], UTC)
    lists = tuple(frozenset(way) for way in row["lists"])
    return Authority(row["kind"], row["path"], row["lane"], at, row["boot"], row["by"], frozenset(row["shown"]), lists)


def wait_to_json(wait: NewWait) -> dict[str, JSON]:
    """A wait as rows carry it."""
    return {
        "kind": wait.kind,
        "due": None if wait.due is None else wait.due.timestamp(),
        "payload": dict(wait.payload),
        "event_types": list(wait.event_types),
    }


def wait_from_json(row: Mapping[str, JSON]) -> NewWait:
    """A wait out of a row."""
    due = None if row["due"] is None else datetime.fromtimestamp(row["due"], UTC)
    return NewWait(row["kind"], due, row["payload"], tuple(row["event_types"]))


def _wake_to_json(wake: WakeNote) -> dict[str, JSON]:
    return {
        "kind": wake.kind,
        "wait": wait_to_json(wake.wait),
        "at": wake.at,
        "boot": wake.boot,
        "reply": wake.reply,
        "by": wake.by,
        "note": wake.note,
        "event_id": wake.event_id,
    }


def _wake_from_json(row: Mapping[str, JSON]) -> WakeNote:
    kind, wait = WakeKind(row["kind"]), wait_from_json(row["wait"])
    return WakeNote(kind, wait, row["at"], row["boot"], row["reply"], row["by"], row["note"], row["event_id"])
