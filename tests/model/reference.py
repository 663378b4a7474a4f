"""What the engine promises of runs, as small rules over plain data: written from the design of the engine, and knowing nothing of its code.

A `Reference` is a site with its workflows, runs and counters. What a person or a camera does is a method; what the engine then does by itself is
a `Move`, small enough that two of them never happen at once. `settle` makes all moves that are left, in one order; whoever wants to know what
may come of things that happen at the same time makes them in every order (`orders.every_end`).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final

from .language import Act, Ask, Await, Block, Branch, Each, Open, Pause, Program, Raise, Say, Sighting, Tell
from .things import ALIVE, BOSS, GUARD, Cooldown, Key, Lane, Move, Question, Run, Wait, Workflow

FRESH_FOR: Final = 60.0
"""How old an authority may be when something moves, in seconds."""
SKIPPED_OVER: Final = 10
"""In a test a longer wait is skipped, in seconds."""
MAX_CHAIN: Final = 3
SEVERITIES: Final = ("low", "medium", "high", "critical")


@dataclass(slots=True)
class Reference:
    """A site. Times are seconds since 1970."""

    now: float
    mode: str = "disarmed"
    workflows: list[Workflow] = field(default_factory=list)
    runs: dict[Key, Run] = field(default_factory=dict)
    events: set[str] = field(default_factory=set)
    unmatched: tuple[Sighting, ...] = ()
    changes: tuple[tuple[str, str], ...] = ()
    """Changes of the gate that were not offered yet: id and what it changed to."""
    cooldowns: dict[tuple[int, str], Cooldown] = field(default_factory=dict)
    used: Counter[tuple[int, int]] = field(default_factory=Counter)
    refused: Counter[tuple[int, str]] = field(default_factory=Counter)
    capped: frozenset[tuple[int, int]] = frozenset()
    attention: frozenset[int] = frozenset()

    def clone(self) -> Reference:
        """A copy. A run is shared until one of the two changes it (`_own`)."""
        return replace(
            self,
            workflows=list(self.workflows),
            runs=dict(self.runs),
            events=set(self.events),
            cooldowns=dict(self.cooldowns),
            used=Counter(self.used),
            refused=Counter(self.refused),
        )

    def _own(self, key: Key) -> Run:
        """A run that may be changed here."""
        run = self.runs[key] = replace(self.runs[key], mark=None)
        return run

    def fingerprint(self) -> tuple[object, ...]:
        """The same for two references that nobody can tell apart."""
        for run in self.runs.values():
            run.mark = run.mark or repr(run)
        return (
            self.now,
            tuple((workflow.program, workflow.state) for workflow in self.workflows),
            frozenset((key, run.mark) for key, run in self.runs.items()),
            self.unmatched,
            self.changes,
            frozenset(self.cooldowns.items()),
            frozenset(self.used.items()),
            frozenset(self.refused.items()),
            self.capped,
            self.attention,
        )

    # -- what happens to the site --------------------------------------------------------------------------------------
    def accept(self, event: Sighting) -> None:
        """An event arrives. One that is known starts nothing."""
        if event.id not in self.events:
            self.events.add(event.id)
            self.unmatched += (event,)

    def gate_changes(self, event_id: str, to: str) -> None:
        """The gate says that it is `to` now."""
        if event_id not in self.events:
            self.events.add(event_id)
            self.changes += ((event_id, to),)

    def answer(self, key: Key, reply: str, *, stranger: bool = False) -> str:
        """Somebody answers the newest question of a run: `taken`, or why not."""
        run = self._own(key)
        question = run.questions[-1]
        ask = self._asked(run)
        if stranger:
            return "not_allowed"
        if ask is not None and reply not in ask.replies:
            return "no_reply"
        if question.state != "open" or question.due <= self.now:
            return "too_late"
        run.questions = (*run.questions[:-1], replace(question, state="answered", reply=reply, at=self.now))
        run.waits = ()
        return "taken"

    def passes(self, seconds: float) -> None:
        """Time passes; what is due is due at once."""
        self.now += seconds

    def edit(self, place: int, program: Program) -> None:
        """A new version: runs under way finish on theirs. Whoever edits says that the attention was heard."""
        self.workflows[place] = replace(self.workflows[place], program=program)
        self.attention -= {place}

    def switch(self, place: int, state: str) -> None:
        """Off, Test or On."""
        self.workflows[place] = replace(self.workflows[place], state=state)

    def cancel(self, key: Key, reason: str) -> bool:
        """A person ends a run; not one that is just acting."""
        run = self._own(key)
        if run.state not in ALIVE or run.acting:
            return False
        self._end(run, "cancelled", reason)
        return True

    # -- what the engine does by itself --------------------------------------------------------------------------------
    def moves(self) -> list[Move]:
        """All that can be done now."""
        found = [Move("match", (event.id, 0)) for event in self.unmatched]
        found += [Move("offer", (event_id, 0)) for event_id, _ in self.changes]
        for run in self.runs.values():
            if run.state == "running":
                found.append(Move("step", run.key))
            elif run.state == "waiting":
                found += self._of_waiting(run)
        return found

    def _of_waiting(self, run: Run) -> list[Move]:
        found = [Move("off", run.key)] if self.workflows[run.place].state == "off" else []
        if run.questions and run.questions[-1].state == "answered" and self._asked(run) is not None:
            found.append(Move("wake", run.key))
        elif any(wait.due <= self.now for wait in run.waits):
            found.append(Move("fire", run.key))
        return found

    def keeps_to_itself(self, move: Move) -> bool:
        """Whether a move of a run changes nothing that another run could see."""
        run = self.runs[move.about]
        raises = move.kind == "step" and isinstance(run.todo[0].acts[0], Raise)
        return run.event.severity is None and not raises

    def make(self, move: Move) -> None:
        """Make one move."""
        match move.kind:
            case "match":
                event = next(one for one in self.unmatched if one.id == move.about[0])
                self.unmatched = tuple(one for one in self.unmatched if one is not event)
                for place in range(len(self.workflows)):
                    self._match(place, event)
            case "offer":
                change = next(one for one in self.changes if one[0] == move.about[0])
                self.changes = tuple(one for one in self.changes if one is not change)
                for key in [run.key for run in self.runs.values() if run.state == "waiting"]:
                    self._offer(self._own(key), change[1])
            case "step":
                self._step(self._own(move.about))
            case "wake":
                run = self._own(move.about)
                question = run.questions[-1]
                assert question.reply is not None and question.at is not None
                self._goes_on(run, self._asked_lane(run, question.reply), question.at)
            case "fire":
                self._fire(self._own(move.about))
            case "off":
                self._end(self._own(move.about), "cancelled", "workflow_off")

    def settle(self) -> None:
        """Make all moves until none is left."""
        while moves := self.moves():
            self.make(moves[0])

    def died(self) -> list[Reference]:
        """What a power cut may leave: a message goes out again under its key; a move that was under way is never repeated, and nobody knows
        whether it moved."""
        ends = [self.clone()]
        for run in self.runs.values():
            if not run.acting:
                continue
            for end in ends:
                end._own(run.key).acting = False
            if isinstance(run.todo[0].acts[0], Open):
                moved = [end.clone() for end in ends]
                for end in moved:
                    end._own(run.key).opened += 1
                ends += moved
                for end in ends:
                    end._stops(end._own(run.key), "unknown")
        return ends

    # -- from event to run ---------------------------------------------------------------------------------------------
    def _match(self, place: int, event: Sighting) -> None:
        """State, loop guard, the top-level `if`; then one at a time per key, cooldown and the hour's cap."""
        workflow = self.workflows[place]
        program = workflow.program
        if workflow.state == "off" or not _starts(program, event):
            return
        if event.caused_by == place:
            self.refused[place, "own"] += 1
        elif event.chain >= MAX_CHAIN:
            self.refused[place, "chain"] += 1
        elif program.mode is not None and program.mode != self.mode:
            self.runs[event.id, place] = Run(
                place, program, event, workflow.state, None, (), "not_met", picture=event.picture
            )
        else:
            self._met(place, event)

    def _met(self, place: int, event: Sighting) -> None:
        program = self.workflows[place].program
        key = one_key(program, event)
        alive = self._alive(place, key)
        if alive is not None and not another(alive.event, event):
            alive.seen_again += 1
            alive.picture = event.picture or alive.picture
            return
        cooldown = self.cooldowns.get((place, key))
        cools = cooldown is not None and self.now < cooldown.until and not another(cooldown.whose, event)
        if alive is None and cools:
            self.refused[place, "cooldown"] += 1
            return
        if not self._within_cap(place):
            return
        if alive is not None and alive.acting:
            alive.one_key = None
        elif alive is not None:
            self._end(alive, "cancelled", "superseded")
        self._start(place, event, key)

    def _alive(self, place: int, key: str) -> Run | None:
        held = (run for run in self.runs.values() if run.place == place and run.one_key == key and run.state in ALIVE)
        found = next(held, None)
        return None if found is None else self._own(found.key)

    def _within_cap(self, place: int) -> bool:
        """Whether a run may start: over the cap of its hour only a question does, and a person is told once."""
        program, hour = self.workflows[place].program, int(self.now // 3600)
        if self.used[place, hour] < program.per_hour:
            self.attention -= {place}
            return True
        self.capped |= {(place, hour)}
        self.attention |= {place}
        if not program.asks():
            self.refused[place, "per_hour"] += 1
        return program.asks()

    def _start(self, place: int, event: Sighting, key: str) -> None:
        workflow = self.workflows[place]
        program = workflow.program
        allowed = () if program.mode is None else (event.at,)
        run = Run(place, program, event, workflow.state, key, (Lane(program.then, allowed),), picture=event.picture)
        self.runs[run.key] = run
        self.used[place, int(self.now // 3600)] += 1
        if program.cooldown:
            self.cooldowns[place, key] = Cooldown(self.now + program.cooldown, event)

    # -- a run ---------------------------------------------------------------------------------------------------------
    def _step(self, run: Run) -> None:
        """One step, with its commit. What acts outside takes two: its intent, then the act and what came of it."""
        if self.workflows[run.place].state == "off" and not run.acting:
            self._end(run, "cancelled", "workflow_off")
            return
        act, lane = run.todo[0].acts[0], run.todo[0]
        live = run.mode == "on" and self.workflows[run.place].state == "on"
        match act:
            case Say() | Raise():
                if live:
                    self._records(run, act, lane)
                self._next(run)
            case Open() | Tell():
                self._acts(run, act, lane, live)
            case Branch():
                holds = act.mode == self.mode
                block = act.true if holds else act.false
                allowed = (*lane.allowed_at, run.event.at) if holds else lane.allowed_at
                self._next(run, () if block is None else (replace(lane, acts=block, allowed_at=allowed),))
            case Each():
                self._next(
                    run, tuple(replace(lane, acts=act.body, items={**lane.items, act.name: one}) for one in act.items)
                )
            case Pause():
                skipped = not live and act.seconds > SKIPPED_OVER
                self._next(run) if skipped else self._park(run, Wait("wait", self.now + act.seconds))
            case Await():
                if live:
                    self._park(run, Wait("wait_for", self.now + act.timeout, act.to))
                else:
                    self._next(run, (replace(lane, acts=act.not_happened),))
            case Ask():
                self._asks(run, act, live)

    def _records(self, run: Run, act: Say | Raise, lane: Lane) -> None:
        if isinstance(act, Say):
            run.logs += (lane.fill(act.text),)
            return
        run.raised += 1
        event_id = f"{run.event.id}/{run.place}#{run.raised}"
        self.events.add(event_id)
        self.unmatched += (
            Sighting(
                event_id,
                run.event.camera,
                self.now,
                None,
                None,
                run.event.picture,
                run.event.chain + 1,
                run.place,
                act.severity,
            ),
        )

    def _acts(self, run: Run, act: Open | Tell, lane: Lane, live: bool) -> None:
        """Decided before the intent and again behind it. Nothing moves late."""
        if run.acting and self.workflows[run.place].state == "off":
            run.acting = False
            self._stops(run, "failed")
            return
        if not live:
            run.acting = False
            self._next(run)
            return
        if isinstance(act, Open) and not any(self.now - at <= FRESH_FOR for at in lane.allowed_at):
            run.acting = False
            self._stops(run, "expired")
            return
        if not run.acting:
            run.acting = True
            return
        run.acting = False
        if isinstance(act, Open):
            run.opened += 1
        else:
            run.told += (lane.fill(act.text),)
        self._next(run)

    def _asks(self, run: Run, ask: Ask, live: bool) -> None:
        if not live:
            self._takes(run, ask, ask.default or "no_answer")
            return
        due = self.now + ask.timeout
        waits = [Wait("ask", due)]
        if ask.escalate_after is not None and ask.escalate_after < ask.timeout:
            waits.append(Wait("escalate", self.now + ask.escalate_after))
        run.questions += (Question(due),)
        self._park(run, *waits)

    def _fire(self, run: Run) -> None:
        """The first of the run's waits whose time has come."""
        wait = min(run.waits, key=lambda one: one.due)
        if wait.kind == "escalate":
            run.waits = tuple(one for one in run.waits if one is not wait)
            run.questions = (*run.questions[:-1], replace(run.questions[-1], who=(GUARD, BOSS)))
            return
        if wait.kind == "ask":
            run.questions = (*run.questions[:-1], replace(run.questions[-1], state="no_answer"))
            ask = self._asked(run)
            assert ask is not None
            self._goes_on(run, ask.lane(ask.default or "no_answer"), None)
            return
        act = run.todo[0].acts[0]
        self._goes_on(run, act.not_happened if isinstance(act, Await) else (), None)

    def _offer(self, run: Run, to: str) -> None:
        if run.state == "waiting" and any(wait.kind == "wait_for" and wait.to == to for wait in run.waits):
            act = run.todo[0].acts[0]
            assert isinstance(act, Await)
            self._goes_on(run, act.happened, None)

    def _goes_on(self, run: Run, block: Block | None, allowed_at: float | None) -> None:
        """A parked step ends: into the lane of its outcome; an answer without one ends the path."""
        lane = run.todo[0]
        run.state, run.waits = "running", ()
        if block is None:
            run.todo = ()
            self._settled(run)
            return
        allowed = lane.allowed_at if allowed_at is None else (*lane.allowed_at, allowed_at)
        self._next(run, (replace(lane, acts=block, allowed_at=allowed),))

    def _takes(self, run: Run, ask: Ask, outcome: str) -> None:
        block = ask.lane(outcome)
        run.todo = run.todo if block is not None else ()
        if block is None:
            self._settled(run)
        else:
            self._next(run, (replace(run.todo[0], acts=block),))

    def _park(self, run: Run, *waits: Wait) -> None:
        run.state, run.waits = "waiting", waits

    def _next(self, run: Run, into: tuple[Lane, ...] = ()) -> None:
        """Past the act that runs, into further lanes."""
        here = run.todo[0]
        run.todo = (*into, replace(here, acts=here.acts[1:]), *run.todo[1:])
        self._settled(run)

    def _stops(self, run: Run, verdict: str) -> None:
        """The path stops; `always` is left. The first verdict stays."""
        run.verdict, run.todo = run.verdict or verdict, ()
        self._settled(run)

    def _settled(self, run: Run) -> None:
        """Out of lanes that are through; at the very end into `always`, and then the run is over."""
        run.todo = tuple(lane for lane in run.todo if lane.acts)
        if run.todo:
            return
        if not run.in_always and run.program.always:
            run.in_always, run.todo = True, (Lane(run.program.always),)
            return
        run.state = run.verdict or "done"

    def _end(self, run: Run, state: str, reason: str) -> None:
        """From outside: nothing of it is left open, and `always` is not for it."""
        run.state, run.reason, run.waits = state, reason, ()
        if run.questions and run.questions[-1].state == "open":
            run.questions = (*run.questions[:-1], replace(run.questions[-1], state="cancelled"))

    def _asked(self, run: Run) -> Ask | None:
        act: Act | None = run.todo[0].acts[0] if run.todo else None
        return act if isinstance(act, Ask) else None

    def _asked_lane(self, run: Run, reply: str) -> Block | None:
        ask = self._asked(run)
        assert ask is not None
        return ask.lane(reply)


def _starts(program: Program, event: Sighting) -> bool:
    if program.starts_at is None or event.severity is None:
        return program.starts_at is None and event.severity is None
    return SEVERITIES.index(event.severity) >= SEVERITIES.index(program.starts_at)


def one_key(program: Program, event: Sighting) -> str:
    """What one run at a time is per. What is not known falls back to the camera."""
    if program.scope == "plate" and event.plate is not None:
        return f"plate {event.plate}"
    if program.scope == "track" and event.track is not None:
        return f"track {event.track} of {event.camera}"
    return f"camera {event.camera}"


def another(before: Sighting, now: Sighting) -> bool:
    """Whether it is known to be another car. A plate says more than a track, and tracks are each camera's own."""
    if before.plate is not None and now.plate is not None:
        return before.plate != now.plate
    if before.track is not None and now.track is not None and before.camera == now.camera:
        return before.track != now.track
    return False


def hour_of(stamp: float) -> datetime:
    """The hour of a time."""
    return datetime.fromtimestamp(stamp // 3600 * 3600, UTC)
