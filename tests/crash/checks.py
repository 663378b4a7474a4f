"""What must be true of a story that has ended, however it was disturbed. Each check is a few sentences about the evidence of `evidence.py`.

The checks know the engine's promises and not its ways: they read what a person or another program would read.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from siteward.core.contract.document import State
from siteward.core.contract.durations import parse_duration
from siteward.core.engine.acting import BACK_OFF
from siteward.sdk.simulated_clock import START
from tests.crash.evidence import NEAR, Evidence, Row

FRESH_SECONDS = 60.0
ENDS = ("done", "not_met", "failed", "unknown", "expired", "cancelled")
LIVE = ("on", "test")
RECORDS = {"log": "logs", "alert": "alerts", "notify": "alerts"}
"""Where the records of an action are."""

End = tuple[str, str, str, tuple[str, ...]]


@dataclass(frozen=True)
class Story:
    """What is known of a story beside its evidence. `calm`: it lost no time but for a second at each restart; `clock_set`: the wall clock was set; `alone`:
    one process lived at a time, and no commit lost its answer. `undisturbed` is how its scenario ends."""

    calm: bool = True
    clock_set: bool = False
    alone: bool = True
    undisturbed: frozenset[End] | None = None


Check = Callable[[Evidence, Story], Iterator[str]]


def violations(found: Evidence, story: Story) -> list[str]:
    """Everything that is wrong, in words; empty where all promises were kept."""
    return [sentence for check in CHECKS for sentence in check(found, story)]


def ends(found: Evidence) -> frozenset[End]:
    """How each event ended in each workflow: the run's state and the records that it left."""
    told: dict[str, list[str]] = {run_id: [] for run_id in found.runs}
    for row in found["logs"]:
        told[row["run_id"]].append(f"log {row['message']}")
    for row in found["alerts"]:
        told.get(row["run_id"], []).append(f"{row['kind']} {row['title']} {row['message']}")
    return frozenset(
        (found.names[run["workflow_id"]], _event_name(found, run), run["state"], tuple(sorted(told[run_id])))
        for run_id, run in found.runs.items()
        if run["mode"] in LIVE
    )


def _event_name(found: Evidence, run: Row) -> str:
    """An event by what it is called in every telling: an alert's own id is new each time."""
    id = str(run["event_id"])
    return f"{run['correlation_id']} {id.partition(':')[0]}" if id.startswith("alert:") else id.rpartition("/")[2]


# -- events and runs ---------------------------------------------------------------------------------------------------
def undamaged(found: Evidence, story: Story) -> Iterator[str]:
    if found.damage:
        yield f"the database is damaged: {found.damage}"


def events_kept(found: Evidence, story: Story) -> Iterator[str]:
    """An event that was acknowledged is there, and was matched."""
    kept = {row["id"] for row in found["events"]}
    for id in (coming.id for coming in found.scenario.comings):
        if id not in found.acknowledged:
            yield f"event {id} was never acknowledged"
        elif id not in kept:
            yield f"event {id} was acknowledged and is lost"
    for row in found["events"]:
        if row["matched"] is None:
            yield f"event {row['id']} was never matched"


def runs_once(found: Evidence, story: Story) -> Iterator[str]:
    """Each event makes one run of each workflow that it starts; each run starts and ends once."""
    made = Counter((run["workflow_id"], run["event_id"]) for run in found.runs.values() if run["mode"] in LIVE)
    for (workflow, event), times in made.items():
        if times > 1:
            yield f"event {event} made {times} runs of {found.names[workflow]}"
    started, ended = (Counter(str(told["run"]) for told in found.told(f"run.{what}")) for what in ("started", "ended"))
    for run_id, run in found.runs.items():
        if run["state"] not in ENDS or run["ended_at"] is None:
            yield f"run {run_id} of event {run['event_id']} was left {run['state']}"
        if ended[run_id] != 1:
            yield f"the end of run {run_id} was told {ended[run_id]} times"
        if run["mode"] in LIVE and run["state"] != "not_met" and started[run_id] != 1:
            yield f"the start of run {run_id} was told {started[run_id]} times"


def events_counted(found: Evidence, story: Story) -> Iterator[str]:
    """What an event came to is one of: a run, a count on a run that waits, a refusal."""
    wanted = Counter[str]()
    for coming in found.scenario.comings:
        for workflow in found["workflows"]:
            text = next(text for text in found.scenario.workflows if f"name: {workflow['name']}\n" in text)
            wanted[workflow["id"]] += coming.type in text.partition("then:")[0]
    for workflow_id, name in found.names.items():
        if not wanted[workflow_id]:
            continue
        own = [run for run in found.runs.values() if run["workflow_id"] == workflow_id and run["mode"] in LIVE]
        refused = sum(
            row["count"]
            for row in found["counters"]
            if row["scope"] == workflow_id and row["name"].startswith("refused.")
        )
        came = len(own) + sum(run["seen_again"] for run in own) + refused
        if came != wanted[workflow_id] or (refused and not found.scenario.limits):
            yield f"{wanted[workflow_id]} events of {name} came to {len(own)} runs, {refused} refusals, {came} in all"


def same_end(found: Evidence, story: Story) -> Iterator[str]:
    """A story that was disturbed and lost no time, with nothing caught between intent and result, ends as one that nobody disturbed."""
    cut_off = found.left or any(step["status"] == "unknown" for step in found.steps.values())
    if story.undisturbed is None or not story.calm or cut_off:
        return
    if (came := ends(found)) != story.undisturbed:
        yield f"it ended otherwise than undisturbed: {sorted(came ^ story.undisturbed)}"


def nothing_left(found: Evidence, story: Story) -> Iterator[str]:
    open_waits = [row["kind"] for row in found["waits"] if row["state"] == "open"]
    kept = ("schedule", "rehearsal")
    for what, left in {
        "steps without an end": [key for key, step in found.steps.items() if step["status"] in ("intent", "waiting")],
        "open waits": [kind for kind in open_waits if kind not in kept],
        "open questions": [
            row["id"] for row in found["workflow_approvals"] if row["state"] == "open" and not row["rehearsal"]
        ],
    }.items():
        if left:
            yield f"{what}: {left}"


# -- what runs leave ---------------------------------------------------------------------------------------------------
def records_once(found: Evidence, story: Story) -> Iterator[str]:
    """A step that writes and is done has its record, once; no record is without its step."""
    left = Counter(
        (row["run_id"], row["path"])
        for table in ("logs", "alerts")
        for row in found[table]
        if row.get("kind") != "engine"
    )
    for key, times in left.items():
        step = found.steps.get(key)
        if step is None or step["status"] != "done":
            yield f"a record of {key} is there, and the step says {step and step['status']}"
        if times > 1:
            yield f"the record of {key} was written {times} times"
    for key, step in found.steps.items():
        if step["kind"] in RECORDS and step["status"] == "done" and key not in left:
            yield f"the record of {key} is missing"


def always_ran(found: Evidence, story: Story) -> Iterator[str]:
    """`always` runs, whatever became of the run; but for one that was withdrawn or never met."""
    for run_id, run in found.runs.items():
        text = next(text for text in found.scenario.workflows if f"name: {found.names[run['workflow_id']]}\n" in text)
        if "always:" not in text or run["state"] in ("not_met", "cancelled"):
            continue
        step = found.steps.get((run_id, "always.0"))
        if step is None or step["status"] not in ("done", "would_have"):
            yield f"`always` of run {run_id} ({run['state']}) says {step and step['status']}"


def ends_said(found: Evidence, story: Story) -> Iterator[str]:
    """A step that is unknown, expired or refused is said in one alert, and its run says the same."""
    said = Counter((row["run_id"], row["path"]) for row in found["alerts"] if row["kind"] == "engine" and row["run_id"])
    for key, step in found.steps.items():
        if step["status"] in ("unknown", "expired", "refused"):
            if said[key] != 1:
                yield f"step {key} ended {step['status']} and {said[key]} alerts say so"
            state = found.runs[key[0]]["state"]
            if state != ("failed" if step["status"] == "refused" else step["status"]):
                yield f"step {key} ended {step['status']} and its run {state}"


# -- what acts outside -------------------------------------------------------------------------------------------------
def intents_first(found: Evidence, story: Story) -> Iterator[str]:
    """Whoever is told to act finds the intent on the disk; or what another process made of it meanwhile."""
    for line in found.outside:
        wanted = line["on_disk"] == "intent" or (line["on_disk"] is not None and not story.alone)
        if not wanted and line["action"] != "world.snapshot":
            yield f"{line['action']} was sent while its step said {line['on_disk']} on the disk"


def moved_once(found: Evidence, story: Story) -> Iterator[str]:
    """What acts once acts once, and its step says so."""
    acted = Counter(line["key"] for line in found.outside if _acts_once(line))
    for key, times in acted.items():
        if times > 1:
            yield f"{key} was done {times} times"
    for (run_id, path), step in found.steps.items():
        key = f"{run_id}:{path}"
        once = step["kind"] in ("gate.open", "ptz_preset")
        if once and step["status"] == "done" and acted[key] != 1:
            yield f"{key} is done and was done {acted[key]} times"
    for line in found.outside:
        status = found.steps[line["run"], line["path"]]["status"]
        if _acts_once(line) and status not in ("done", "unknown"):
            yield f"{line['key']} was done and its step says {status}"
    if found.scenario.state is not State.ON and found.outside:
        yield f"a workflow in Test did {[line['key'] for line in found.outside]}"


def _acts_once(line: Row) -> bool:
    return bool(line["moves"]) or line["action"] == "ptz_preset"


def never_late(found: Evidence, story: Story) -> Iterator[str]:
    """Nothing moves without a word that allows it, nor later than the word is good for; by the time that truly passed."""
    for line in found.outside:
        if not line["moves"]:
            continue
        given = _word_for(found, line)
        if given is None:
            yield f"{line['key']} moved without a word"
        elif (age := line["true"] - given) > FRESH_SECONDS + NEAR:
            yield f"{line['key']} moved {age:.0f} s after the word that allowed it"


def _word_for(found: Evidence, line: Row) -> float | None:
    """When the word that lets a run move was given, in true seconds of the story: the reply as it was said, else the event of a rule."""
    run_id = line["run"]
    asked = {row["id"]: row for row in found["workflow_approvals"] if row["run_id"] == run_id}
    if not asked:
        event = next(row for row in found["events"] if row["id"] == found.runs[run_id]["event_id"])
        return float(event["at"]) - START.timestamp()
    heard = [
        float(one["true"])
        for one in found.said
        if one["approval"] in asked
        and asked[one["approval"]]["reply"] == one["reply"] == "Let in"
        and one["true"] <= line["true"]
    ]
    return max(heard, default=None)


def unknown_where_cut(found: Evidence, story: Story) -> Iterator[str]:
    """What acts once and was cut off between intent and result is unknown; nothing else is."""
    if not story.alone:
        return
    unknown = {f"{run}:{path}" for (run, path), step in found.steps.items() if step["status"] == "unknown"}
    for key in found.left - unknown:
        yield f"{key} was cut off between intent and result, and is not unknown"
    for key in unknown - found.left:
        yield f"{key} is unknown, and nothing cut it off"


def one_key(found: Evidence, story: Story) -> Iterator[str]:
    """What may be sent again goes under one key, as often as the steps of its run say, and arrives where its step is done."""
    for (run_id, path), step in found.steps.items():
        sent = [line for line in found.outside if (line["run"], line["path"]) == (run_id, path)]
        keys = {line["key"] for line in sent}
        if len(keys) > 1:
            yield f"{path} of run {run_id} went out under {len(keys)} keys"
        received = any(line["answer"] == "done" for line in sent)
        if step["kind"] in ("webhook", "email") and step["status"] == "done" and not received:
            yield f"{path} of run {run_id} is done and was never received"


def retries_kept(found: Evidence, story: Story) -> Iterator[str]:
    """A retry comes when its back-off is over, or at once after a crash; and what was written down to come again comes."""
    if not story.alone:
        return
    for (run_id, path), step in found.steps.items():
        sent = [line["true"] for line in found.outside if (line["run"], line["path"]) == (run_id, path)]
        pauses = [after - before for before, after in pairwise(sent)]
        for pause, at in zip(pauses, sent[1:], strict=True):
            if not found.at_a_start(at) and all(abs(pause - wanted) > NEAR for wanted in BACK_OFF):
                yield f"{path} was sent again after {pause} s, which is nobody's back-off, and nobody had restarted"
        retries = sum(
            row["kind"] == "retry" and (row["run_id"], row["path"]) == (run_id, path) for row in found["waits"]
        )
        if (in_time := sum(pause > BACK_OFF[0] - NEAR for pause in pauses)) < retries and step["status"] != "expired":
            yield f"{path} was to be sent again {retries} times, and was {in_time} times"


# -- time --------------------------------------------------------------------------------------------------------------
def waits_kept(found: Evidence, story: Story) -> Iterator[str]:
    """A wait ends when its time has come: not before, and not later than somebody lived to end it."""
    if not story.alone:
        return
    for key, step in found.steps.items():
        if step["status"] != "done" or (seconds := _waited(step)) is None:
            continue
        if not found.lasted(step["started_at"], step["ended_at"], seconds):
            yield f"{key} was to wait {seconds} s from {step['started_at']} on and went on at {step['ended_at']}"


def _waited(step: Row) -> int | None:
    """For how long a step waited to its end; None where something else ended it."""
    settings = json.loads(step["inputs"])
    match step["kind"], step["outcome"]:
        case "wait", _:
            return parse_duration(settings["for"])
        case "wait_for", "not_happened":
            return parse_duration(settings["timeout"])
        case "ask_person", "no_answer":
            return parse_duration(settings["timeout"])
    return None


def answers_taken(found: Evidence, story: Story) -> Iterator[str]:
    """The reply that was recorded is the lane that was taken; a question is put once to each who is asked."""
    asked = Counter((row["run_id"], row["path"]) for row in found["workflow_approvals"])
    for key, times in asked.items():
        if times > 1:
            yield f"{key} was asked {times} times"
    for row in found["workflow_approvals"]:
        step = found.steps[row["run_id"], row["path"]]
        if row["state"] == "answered" and step["outcome"] != row["reply"]:
            yield f"{row['answered_by']} said {row['reply']}, and the run took {step['outcome']}"
        if row["state"] == "no_answer" and row["answered_at"] is not None:
            yield f"the reply of {row['answered_by']} was recorded and forgotten"


def escalated(found: Evidence, story: Story) -> Iterator[str]:
    """More people are asked once, when their time has come."""
    if not story.alone:
        return
    for row in found["workflow_approvals"]:
        settings = json.loads(found.steps[row["run_id"], row["path"]]["inputs"])
        later = [parse_duration(one["after"]) for one in settings.get("escalate", ())]
        told = [one["at"] for one in found.told("approval.opened") if one["id"] == row["id"]]
        if len(told) - 1 > len(later):
            yield f"the question {row['id']} was put {len(told)} times"
        for seconds, at in zip(later, told[1:], strict=False):
            if not found.lasted(row["asked_at"], at, seconds):
                yield f"the question {row['id']} of {row['asked_at']} went to more people at {at}, not after {seconds} s"


def schedules_kept(found: Evidence, story: Story) -> Iterator[str]:
    """Each time of a schedule fires once, when it is due or as soon as somebody lives; only what nobody lived through may be missed."""
    by_schedule: dict[str, set[float]] = {}
    for row in found["events"]:
        if row["type"] == "schedule":
            by_schedule.setdefault(row["id"].rpartition(":")[0], set()).add(row["at"])
    for run in found.runs.values():
        event = next(row for row in found["events"] if row["id"] == run["event_id"])
        on_time = not story.alone or found.by_the_wall(run["started_at"], event["at"])
        if event["type"] == "schedule" and not on_time:
            yield f"what was scheduled for {event['at']} ran at {run['started_at']}"
    if not found.scenario.until:
        return
    for name, times, every in (("Rounds", (900, 1800), 900), ("Break", (1800,), 86400)):
        fired = next(
            (seen for key, seen in by_schedule.items() if found.names[key.split(":")[1].split("/")[0]] == name), set()
        )
        missed = [second for second in times if START.timestamp() + second not in fired]
        said = any(row["title"] == f"{name}: a schedule was missed" for row in found["alerts"])
        if not all(found.nobody_lived_at(second) for second in missed):
            yield f"{name} was due at {missed} and did not fire: {sorted(fired)}"
        if missed and not said:
            yield f"{name} missed {missed}, and nothing says so"
        if any((at - START.timestamp()) % every for at in fired if every < 86400):
            yield f"{name} fired at another time than it says: {sorted(fired)}"


def cooldowns_kept(found: Evidence, story: Story) -> Iterator[str]:
    """No two runs within a cooldown; and an event after its end is not refused."""
    if story.clock_set or found.scenario.name != "limits":
        return
    cooling = sorted(run["started_at"] for run in found.runs.values() if found.names[run["workflow_id"]] == "Cooling")
    for one, another in pairwise(cooling):
        if another - one < 300 - NEAR:
            yield f"Cooling ran at {one} and at {another}, within its cooldown"
    came = {row["id"]: row["accepted_at"] for row in found["events"]}
    for id in ("hot", "too soon", "cool"):
        made = any(run["event_id"] == id for run in found.runs.values())
        moments = [came[id], *(begin for begin in found.begins if begin > came[id])]
        if not made and not any(0 <= moment - start < 300 + NEAR for moment in moments for start in cooling):
            yield f"event {id} was refused, and no cooldown held"


CHECKS: tuple[Check, ...] = (
    *(undamaged, events_kept, runs_once, events_counted, same_end, nothing_left),
    *(records_once, always_ran, ends_said, intents_first, moved_once, never_late, unknown_where_cut, one_key),
    *(retries_kept, waits_kept, answers_taken, escalated, schedules_kept, cooldowns_kept),
)
"""All of them; a fault that the matrix is tried on must be found by one."""
