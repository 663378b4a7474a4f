"""The engine's statements: each function is one write, to be submitted with the others of its moment.

Every transition of a run is a conditional UPDATE on its fence: who lost the run learns it by the row count and changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any

import orjson

from siteward.core.contract.registry import Provenance
from siteward.core.engine.seam import JSON, Mode, NewApproval, NewWait, RunState, StepStatus
from siteward.core.engine.values import values_to_json
from siteward.core.events.event import Event
from siteward.core.plugins.objects import Record
from siteward.core.store.writer import Op

ALIVE = (RunState.RUNNING, RunState.WAITING)


def dump(value: JSON) -> str:
    """JSON text for a column. Mappings and tuples of every kind are welcome; what JSON has no word for becomes a text."""
    try:
        return orjson.dumps(value, default=_plain).decode()
    except TypeError:  # a key that is no text, which costs more to write
        return orjson.dumps(value, default=_plain, option=orjson.OPT_NON_STR_KEYS).decode()


def load(text: str | None) -> JSON:
    """JSON out of a column; None where it is NULL."""
    return None if text is None else orjson.loads(text)


def _plain(value: object) -> JSON:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, frozenset | set):
        return sorted(value)
    return str(value)


def moment(stamp: float) -> datetime:
    """A column's time as an aware one."""
    return datetime.fromtimestamp(stamp, UTC)


# -- events ------------------------------------------------------------------------------------------------------------
def new_event(event: Event, accepted_at: float, matched: int | None = None) -> Op:
    """Accept an event; loses the race where its id is known already. `matched` is 0 where nobody wants it."""
    return Op(
        "INSERT INTO events (id, type, source, provenance, camera, at, accepted_at, correlation_id, chain, caused_by, payload, picture, "
        "matched) VALUES (:id, :type, :source, :provenance, :camera, :at, :accepted, :correlation, :chain, :caused, :payload, :picture, "
        ":matched) ON CONFLICT (id) DO NOTHING",
        {
            "id": event.id,
            "type": event.type,
            "source": event.source,
            "provenance": event.provenance.value,
            "camera": event.camera,
            "at": event.at.timestamp(),
            "accepted": accepted_at,
            "correlation": event.correlation_id or event.id,
            "chain": event.chain,
            "caused": event.caused_by,
            "payload": dump(event.payload),
            "picture": event.picture,
            "matched": matched,
        },
        expect=1,
    )


def event_from_row(row: Mapping[str, Any]) -> Event:
    """The event out of its row. A provenance that nobody knows is AI's."""
    known = row["provenance"] in {provenance.value for provenance in Provenance}
    return Event(
        id=row["id"],
        type=row["type"],
        source=row["source"],
        provenance=Provenance(row["provenance"]) if known else Provenance.AI,
        at=moment(row["at"]),
        camera=row["camera"],
        correlation_id=row["correlation_id"],
        chain=row["chain"],
        caused_by=row["caused_by"],
        payload=load(row["payload"]),
        picture=row["picture"],
    )


def event_matched(event_id: str, runs: int) -> Op:
    """The event made its runs. Exactly one match wins, also when a restart and a repeat try at once."""
    return Op(
        "UPDATE events SET matched = :runs WHERE id = :id AND matched IS NULL", {"runs": runs, "id": event_id}, expect=1
    )


# -- runs --------------------------------------------------------------------------------------------------------------
def new_run(row: Mapping[str, JSON]) -> Op:
    """A run; loses the race where another one holds its one-at-a-time key, or the event made it already."""
    return Op(_insert_run(tuple(row)), row, expect=1)


@cache
def _insert_run(names: tuple[str, ...]) -> str:
    values = ", ".join(f":{name}" for name in names)
    return f"INSERT INTO workflow_runs ({', '.join(names)}) VALUES ({values}) ON CONFLICT DO NOTHING"


def claim_run(run_id: str, owner: str) -> Op:
    """Take a running run: whoever had it before is fenced off. Its row is to be read after this is committed, not before: a write that was
    under way when its connection was lost is either in that row then, or never will be."""
    return Op(
        "UPDATE workflow_runs SET fence = fence + 1, lease_owner = :owner WHERE id = :id AND state = 'running'",
        {"id": run_id, "owner": owner},
        expect=1,
    )


def move_run(
    run_id: str, fence: int, position: JSON, state: RunState, reason: str | None = None, ended: float | None = None
) -> Op:
    """A running run's next position, and its state where it parks or ends."""
    return Op(
        "UPDATE workflow_runs SET position = :position, state = :state, state_reason = :reason, ended_at = :ended "
        "WHERE id = :id AND fence = :fence AND state = 'running'",
        {
            "id": run_id,
            "fence": fence,
            "position": dump(position),
            "state": state.value,
            "reason": reason,
            "ended": ended,
        },
        expect=1,
    )


def hold_run(run_id: str, fence: int, workflow_state: str | None = None) -> Op:
    """Nothing changes but the certainty that this run is still ours: written with an intent. With `workflow_state` also the certainty that its
    workflow is in that state, whichever process switches it."""
    held = "UPDATE workflow_runs SET fence = fence WHERE id = :id AND fence = :fence AND state = 'running'"
    if workflow_state is None:
        return Op(held, {"id": run_id, "fence": fence}, expect=1)
    return Op(
        f"{held} AND EXISTS (SELECT 1 FROM workflows w WHERE w.id = workflow_runs.workflow_id AND w.state = :state)",
        {"id": run_id, "fence": fence, "state": workflow_state},
        expect=1,
    )


def wake_run(run_id: str, fence: int, position: JSON, owner: str | None) -> Op:
    """A waiting run goes on, with the reason of it in its position. `owner` drives it from here; None: whoever held it before."""
    return Op(
        "UPDATE workflow_runs SET position = :position, state = 'running', fence = fence + 1, "
        "lease_owner = COALESCE(:owner, lease_owner) WHERE id = :id AND fence = :fence AND state = 'waiting'",
        {"id": run_id, "fence": fence, "position": dump(position), "owner": owner},
        expect=1,
    )


def lock_run(run_id: str, fence: int) -> Op:
    """Nobody else writes this run until the transaction ends. To be sent before a write that looks at the run's steps: PostgreSQL looks at them
    as they were when the statement began, also where it then waited for who was just writing one."""
    return Op(
        "UPDATE workflow_runs SET fence = fence WHERE id = :id AND fence = :fence",
        {"id": run_id, "fence": fence},
        expect=1,
    )


def end_alive_run(run_id: str, fence: int, state: RunState, reason: str, now: float) -> Op:
    """End a run from outside it. A run that is just acting is left to record what came of it."""
    return Op(
        "UPDATE workflow_runs SET state = :state, state_reason = :reason, ended_at = :now, fence = fence + 1 "
        "WHERE id = :id AND fence = :fence AND state IN ('running', 'waiting') AND NOT EXISTS "
        "(SELECT 1 FROM workflow_run_steps s WHERE s.run_id = :id AND s.status = 'intent' AND workflow_runs.state = 'running')",
        {"id": run_id, "fence": fence, "state": state.value, "reason": reason, "now": now},
        expect=1,
    )


def give_key_up(run_id: str, fence: int) -> Op:
    """A run that is just acting leaves its one-at-a-time key to the next; it finishes what it does."""
    return Op(
        "UPDATE workflow_runs SET one_key = NULL WHERE id = :id AND fence = :fence AND state = 'running' AND EXISTS "
        "(SELECT 1 FROM workflow_run_steps s WHERE s.run_id = :id AND s.status = 'intent')",
        {"id": run_id, "fence": fence},
        expect=1,
    )


def seen_again(run_id: str, picture: str | None) -> Op:
    """A repeat of the event while the run is alive, with the newest picture."""
    return Op(
        "UPDATE workflow_runs SET seen_again = seen_again + 1, newest_picture = COALESCE(:picture, newest_picture) "
        "WHERE id = :id AND state IN ('running', 'waiting')",
        {"id": run_id, "picture": picture},
        expect=1,
    )


# -- steps -------------------------------------------------------------------------------------------------------------
def put_step(row: Mapping[str, JSON]) -> Op:
    """A step's row, or what became of it."""
    return Op(_put_step(tuple(row)), row, expect=1)


@cache
def _put_step(names: tuple[str, ...]) -> str:
    kept = ("run_id", "path", "started_at", "seq")
    changes = ", ".join(f"{name} = excluded.{name}" for name in names if name not in kept)
    values = ", ".join(f":{name}" for name in names)
    return (
        f"INSERT INTO workflow_run_steps ({', '.join(names)}) VALUES ({values}) "
        f"ON CONFLICT (run_id, path) DO UPDATE SET {changes}"
    )


def new_tool_call(call_id: str, run_id: str, path: str, seq: int, row: Mapping[str, JSON]) -> Op:
    """One trace row of an AI step."""
    return Op(
        "INSERT INTO workflow_tool_calls (id, run_id, path, seq, row) VALUES (:id, :run, :path, :seq, :row)",
        {"id": call_id, "run": run_id, "path": path, "seq": seq, "row": dump(row)},
    )


def end_waiting_step(run_id: str, status: StepStatus, now: float) -> Op:
    """The step that a run waited in, when the run is ended from outside."""
    return Op(
        "UPDATE workflow_run_steps SET status = :status, ended_at = :now WHERE run_id = :run AND status IN ('waiting', 'intent')",
        {"run": run_id, "status": status.value, "now": now},
    )


# -- waits and approvals -----------------------------------------------------------------------------------------------
def new_waits(wait: NewWait, new_id: Any, run_id: str | None, path: str | None, payload: JSON) -> tuple[Op, ...]:
    """The rows of a wait: one per event type that it listens to, the first with the due time."""
    types: tuple[str | None, ...] = wait.event_types or (None,)
    due = None if wait.due is None else wait.due.timestamp()
    return tuple(
        Op(
            "INSERT INTO waits (id, run_id, path, kind, due_at, state, payload, event_type) "
            "VALUES (:id, :run, :path, :kind, :due, 'open', :payload, :type)",
            {
                "id": new_id(),
                "run": run_id,
                "path": path,
                "kind": wait.kind,
                "due": due if index == 0 else None,
                "payload": dump(payload),
                "type": event_type,
            },
        )
        for index, event_type in enumerate(types)
    )


def take_wait(wait_id: str) -> Op:
    """The wait is over; exactly one taker wins."""
    return Op("UPDATE waits SET state = 'taken' WHERE id = :id AND state = 'open'", {"id": wait_id}, expect=1)


def cancel_waits(run_id: str) -> Op:
    """No wait of the run is open any more."""
    return Op("UPDATE waits SET state = 'cancelled' WHERE run_id = :run AND state = 'open'", {"run": run_id})


def new_approval(
    approval_id: str, run_id: str, path: str, workflow_id: str, camera: str | None, asked: NewApproval, now: float
) -> Op:
    """A question to people."""
    return Op(
        'INSERT INTO workflow_approvals (id, run_id, path, workflow_id, camera, who, message, replies, "default", picture, shown, '
        "rehearsal, state, asked_at, due_at) VALUES (:id, :run, :path, :workflow, :camera, :who, :message, :replies, :default, :picture, "
        ":shown, :rehearsal, 'open', :now, :due)",
        {
            "id": approval_id,
            "run": run_id,
            "path": path,
            "workflow": workflow_id,
            "camera": camera,
            "who": dump(asked.who),
            "message": asked.message,
            "replies": dump(asked.replies),
            "default": asked.default,
            "picture": asked.picture,
            "shown": dump(values_to_json(asked.shown)),
            "rehearsal": asked.rehearsal,
            "now": now,
            "due": None if asked.due is None else asked.due.timestamp(),
        },
    )


def ask_more(run_id: str, path: str, who: Iterable[str]) -> Op:
    """The open question of a step is put to more people."""
    return Op(
        "UPDATE workflow_approvals SET who = :who WHERE run_id = :run AND path = :path AND state = 'open'",
        {"run": run_id, "path": path, "who": dump(list(who))},
    )


def close_approvals(run_id: str, state: str) -> Op:
    """No question of the run is open any more."""
    return Op(
        "UPDATE workflow_approvals SET state = :state WHERE run_id = :run AND state = 'open'",
        {"run": run_id, "state": state},
    )


def end_rehearsals(now: float) -> Op:
    """Rehearsals that nobody took up are over."""
    return Op(
        "UPDATE workflow_approvals SET state = 'cancelled' WHERE rehearsal AND state = 'open' AND due_at <= :now",
        {"now": now},
    )


# -- what runs leave ---------------------------------------------------------------------------------------------------
_ALERT = (
    "INSERT INTO alerts (id, kind, run_id, path, workflow_id, camera, who, severity, asked_severity, clamped_why, title, message, "
    "attach, correlation_id, chain, at) VALUES (:id, :kind, :run_id, :path, :workflow_id, :camera, :who, :severity, :asked_severity, "
    ":clamped_why, :title, :message, :attach, :correlation_id, :chain, :at)"
)
_ALERT_COLUMNS = (
    *("run_id", "path", "workflow_id", "camera", "who", "severity", "asked_severity", "clamped_why"),
    *("title", "message", "correlation_id", "chain", "at"),
)


def new_record(record_id: str, record: Record, about: Mapping[str, JSON]) -> Op:
    """A row that a step leaves: `alert`, `notification` and `engine` rows in the inbox, `log` in the log. `about` names run and time."""
    values = {**about, **record.values}
    if record.kind == "log":
        return Op(
            "INSERT INTO logs (id, run_id, path, message, at) VALUES (:id, :run_id, :path, :message, :at)",
            {"id": record_id, **{name: values.get(name) for name in ("run_id", "path", "message", "at")}},
            expect=1,
        )
    row = {name: values.get(name) for name in _ALERT_COLUMNS}
    row["attach"] = dump(values.get("attach") or [])
    who = values.get("who")
    row["who"] = who if isinstance(who, str | None) else dump(who)
    return Op(_ALERT, {"id": record_id, "kind": record.kind, **row}, expect=1)


def update_records(run_id: str, step_id: str, line: str) -> Op:
    """A later step's line joins the messages of its run that wait for it (`update_with`). The step's inputs say which do."""
    escaped = step_id.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return Op(
        "UPDATE alerts SET message = CASE WHEN message IS NULL OR message = '' THEN :line ELSE message || :joined END "
        "WHERE run_id = :run AND path IN (SELECT path FROM workflow_run_steps WHERE run_id = :run AND inputs LIKE :names ESCAPE '\\')",
        {"run": run_id, "line": line, "joined": f"\n{line}", "names": f'%"update\\_with":{{"v":"{escaped}"%'},
    )


def publish(topic: str, payload: Mapping[str, JSON], camera: str | None, now: float) -> Op:
    """A live update, in the transaction of what it tells."""
    return Op(
        "INSERT INTO outbox (topic, payload, camera, at) VALUES (:topic, :payload, :camera, :now)",
        {"topic": topic, "payload": dump(payload), "camera": camera, "now": now},
        expect=1,
    )


def publish_of_run(topic: str, payload: Mapping[str, JSON], run_id: str, now: float) -> Op:
    """A live update for those who see the camera of the run's event, where the writer has not the event at hand."""
    return Op(
        "INSERT INTO outbox (topic, payload, camera, at) SELECT :topic, :payload, events.camera, :now FROM workflow_runs "
        "JOIN events ON events.id = workflow_runs.event_id WHERE workflow_runs.id = :run",
        {"topic": topic, "payload": dump(payload), "run": run_id, "now": now},
    )


# -- counters ----------------------------------------------------------------------------------------------------------
def count(scope: str, name: str, bucket: str, sample: str | None = None) -> Op:
    """One more of something; the newest sample stays."""
    return Op(
        "INSERT INTO counters (scope, name, bucket, count, sample) VALUES (:scope, :name, :bucket, 1, :sample) "
        "ON CONFLICT (scope, name, bucket) DO UPDATE SET count = counters.count + 1, sample = excluded.sample",
        {"scope": scope, "name": name, "bucket": bucket, "sample": sample},
        expect=1,
    )


def count_first(scope: str, name: str, bucket: str) -> Op:
    """The first of something; loses the race where there was one before."""
    return Op(
        "INSERT INTO counters (scope, name, bucket, count) VALUES (:scope, :name, :bucket, 1) ON CONFLICT DO NOTHING",
        {"scope": scope, "name": name, "bucket": bucket},
        expect=1,
    )


def count_within(scope: str, name: str, bucket: str, cap: int) -> Op:
    """One more of something that has a cap; loses the race where the cap is reached."""
    return Op(
        "INSERT INTO counters (scope, name, bucket, count) SELECT :scope, :name, :bucket, 1 WHERE :cap > 0 "
        "ON CONFLICT (scope, name, bucket) DO UPDATE SET count = counters.count + 1 WHERE counters.count < :cap",
        {"scope": scope, "name": name, "bucket": bucket, "cap": cap},
        expect=1,
    )


def start_cooldown(workflow_id: str, key: str, until: float, now: float, whose: Mapping[str, JSON]) -> Op:
    """A met run starts its cooldown, for who or what stood there; loses the race where one holds. One that would hold for longer than the new one comes from a clock that
    was set back, and holds no more."""
    return Op(
        "INSERT INTO counters (scope, name, bucket, count, until, sample) "
        "VALUES (:scope, 'cooldown', :key, 1, :until, :whose) "
        "ON CONFLICT (scope, name, bucket) DO UPDATE SET count = counters.count + 1, until = excluded.until, "
        "sample = excluded.sample WHERE counters.until <= :now OR counters.until > excluded.until",
        {"scope": workflow_id, "key": key, "until": until, "now": now, "whose": dump(whose)},
        expect=1,
    )


def run_row(
    run_id: str,
    workflow_id: str,
    version: int,
    mode: Mode,
    state: RunState,
    event: Event,
    chain: int,
    position: JSON,
    now: float,
    *,
    one_key: str | None,
    owner: str,
    revisions: Mapping[str, JSON],
    reason: str | None = None,
) -> dict[str, JSON]:
    """The columns of a new run, which `owner` drives."""
    return {
        "id": run_id,
        "workflow_id": workflow_id,
        "version": version,
        "mode": mode.value,
        "state": state.value,
        "state_reason": reason,
        "event_id": event.id,
        "correlation_id": event.correlation_id or event.id,
        "chain": chain,
        "one_key": one_key,
        "newest_picture": event.picture,
        "position": dump(position),
        "started_at": now,
        "ended_at": None if state in ALIVE else now,
        "lease_owner": owner if state in ALIVE else None,
        "revisions": dump(revisions),
    }
