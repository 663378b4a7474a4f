"""The stories of the crash matrix: workflows, what happens around them, and what people do. Together they hold every repeat class (rerun,
with_step, keyed_retry and once, moving and not), every wait (ask, escalation, wait, wait_for, retry, schedule, cooldown, rehearsal),
`for_each`, `always` and nested lanes; `test_matrix.py` asserts that they do.

Two kinds are missing, since the engine has no seam for them yet: `call` has no host step, and an AI mode answers and never suspends (`AiMode.run`
returns an `AiAnswer`; nothing takes a `Suspended` and writes it beside an approval). A question that follows an AI step is here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from siteward.core.contract.document import State
from siteward.core.contract.registry import Provenance


@dataclass(frozen=True)
class Coming:
    """Something that a source tells at `after` seconds of the story."""

    id: str
    after: float
    type: str = "detect.vehicle_in_zone"
    camera: str | None = "cam-1"
    payload: Mapping[str, Any] = field(default_factory=lambda: {"zone": "apron", "seconds": 5, "label": "car"})
    provenance: Provenance = Provenance.SENSOR


@dataclass(frozen=True)
class Answer:
    """A person's reply, `after` seconds after the question was put."""

    after: float
    reply: str = "Let in"
    by: str = "user:gerda"


@dataclass(frozen=True)
class Scenario:
    """A story. `answers` is what people say to a question of a camera; `fails` how often a receiver cannot be reached by what is sent with an
    action to a target, and `refuses` what it never takes; `until` is the second up to which schedules are of interest."""

    name: str
    workflows: tuple[str, ...]
    comings: tuple[Coming, ...] = ()
    answers: Mapping[str, Answer] = field(default_factory=dict)
    fails: Mapping[str, int] = field(default_factory=dict)
    refuses: frozenset[str] = frozenset()
    until: float = 0.0
    state: State = State.ON
    tried: bool = False
    """The events are also tried."""
    limits: bool = False
    """Not every event makes a run."""


def plate(id: str, after: float, plate: str) -> Coming:
    """A number plate is read at the gate."""
    return Coming(id, after, "plate.recognized.v1", payload={"plate": plate})


VEHICLE = """
contract: workflow.v1
name: {name}
limits: {{ cooldown: {cooldown} }}
when:
  detect.vehicle_in_zone: {{ cameras: [gate, yard], zone: apron }}
"""
PLATE = """
contract: workflow.v1
name: {name}
limits: {{ cooldown: {cooldown} }}
when:
  event: {{ type: plate.recognized.v1, cameras: [gate] }}
"""

EVERYTHING = Scenario(
    "everything",
    (
        VEHICLE.format(name="Everything", cooldown="60s")
        + """
then:
  - for_each:
      in: [a, b]
      as: item
      do:
        - log: "item {item}"
  - webhook: { to: ticketing, body: { camera: "{camera}" } }
  - wait: 5s
  - id: look
    ai:
      mode: look
      prompt: Who is it?
      input: picture
      decision: [delivery]
      delivery: [alert: { severity: low, title: "Delivery", update_with: look }]
      unsure: [log: "unsure"]
  - ask_person: { who: role:guard, message: "{look.reason}", replies: [Let in], timeout: 10m }
    Let in:
      - gate.open: { gate: main_gate }
      - wait_for: { gate.changed: { to: open }, timeout: 5m }
        happened: [log: "gate is open"]
        not_happened: [log: "gate stayed shut"]
    no_answer: [log: "nobody answered"]
always:
  - log: "always"
""",
    ),
    (Coming("vehicle", 0),),
    {"cam-1": Answer(5)},
)

EFFECTS = Scenario(
    "effects",
    (
        PLATE.format(name="Effects", cooldown="0s")
        + """
if:
  - in_list: { value: "{plate}", list: residents }
then:
  - world.measure: { of: gate }
  - world.snapshot: { camera: gate }
  - notify: { who: role:guard, message: "{plate} is expected" }
  - gate.open: { gate: main_gate }
  - if: [ value: { of: "{plate}", is: "AB 12" } ]
    true:
      - for_each:
          in: [one, two]
          as: item
          do:
            - if: [ value: { of: "{item}", is: one } ]
              true: [ webhook: { to: ticketing, body: "{item}" } ]
              false: [ ptz_preset: { camera: gate, preset: home } ]
      - webhook: { to: lock, body: "open" }
always:
  - alert: { severity: low, title: "{plate} was dealt with" }
""",
    ),
    (plate("resident", 0, "AB 12"), plate("stranger", 20, "CD 34")),
)

RETRIES = Scenario(
    "retries",
    (
        VEHICLE.format(name="Retries", cooldown="0s")
        + """
then:
  - for_each:
      in: [a, b]
      as: item
      do:
        - webhook: { to: ticketing, body: "{item} {camera}" }
        - log: "sent {item}"
  - email: { who: role:guard, subject: "A car", message: "{camera}" }
always:
  - log: "always"
""",
    ),
    (Coming("vehicle", 0), Coming("refused", 900, camera="cam-2")),
    fails={"a cam-1": 2, "A car cam-1": 9},
    refuses=frozenset({"b cam-2"}),
)

SILENCE = Scenario(
    "silence",
    (
        VEHICLE.format(name="Silence", cooldown="0s")
        + """
then:
  - ask_person:
      who: role:guard
      message: "A car"
      replies: [Let in]
      timeout: 5m
      escalate: [{ after: 2m, who: role:boss }]
    Let in: [ gate.open: { gate: main_gate } ]
    no_answer: [ log: "nobody answered" ]
  - log: "after the question"
always:
  - log: "always"
""",
    ),
    (Coming("answered", 0), Coming("silence", 40, camera="cam-2")),
    {"cam-1": Answer(180, by="user:boss")},
)

WAITS = Scenario(
    "waits",
    (
        VEHICLE.format(name="Waits", cooldown="0s")
        + """
then:
  - for_each:
      in: [x, y]
      as: item
      do:
        - wait: 30s
        - log: "waited {item}"
  - wait_for: { doorbell: {}, timeout: 5m }
    happened: [ log: "rang" ]
    not_happened: [ log: "did not ring" ]
  - wait_for: { gate.changed: { to: closed }, timeout: 20m }
    happened: [ log: "closed" ]
    not_happened:
      - if: [ site_mode: [disarmed] ]
        true: [ wait: 2h ]
always:
  - log: "always"
""",
    ),
    (Coming("vehicle", 0), Coming("ring", 100, "doorbell", payload={"button": "front"})),
)

SCHEDULES = Scenario(
    "schedules",
    (
        """
contract: workflow.v1
name: Rounds
limits: { cooldown: 0s }
when:
  schedule: { every: 15m }
then:
  - log: "round"
always:
  - log: "always"
""",
        """
contract: workflow.v1
name: Break
limits: { cooldown: 0s }
when:
  schedule: { at: "10:30" }
then:
  - wait: 60s
  - alert: { severity: low, title: "Back to work" }
""",
    ),
    until=1900,
)

LIMITS = Scenario(
    "limits",
    (
        PLATE.format(name="Next car", cooldown="60s")
        + """
then:
  - ask_person: { who: role:guard, message: "{plate}", replies: [Let in], timeout: 20m }
    Let in: [ gate.open: { gate: main_gate } ]
always:
  - log: "always"
""",
        VEHICLE.format(name="Cooling", cooldown="5m")
        + """
then:
  - log: "a car"
""",
    ),
    (
        plate("first", 0, "AB 12"),
        plate("first again", 10, "AB 12"),
        plate("another", 20, "CD 34"),
        Coming("hot", 0, camera="cam-2"),
        Coming("too soon", 100, camera="cam-2"),
        Coming("cool", 400, camera="cam-2"),
    ),
    {"cam-1": Answer(50)},
    limits=True,
)

REHEARSAL = Scenario(
    "rehearsal",
    (
        VEHICLE.format(name="Rehearsal", cooldown="0s")
        + """
then:
  - ask_person: { who: role:guard, message: "A car", replies: [Let in], timeout: 10m }
    Let in: [ gate.open: { gate: main_gate } ]
    no_answer: [ log: "nobody answered" ]
always:
  - log: "always"
""",
    ),
    (Coming("vehicle", 0),),
    {"cam-1": Answer(10)},
    state=State.TEST,
    tried=True,
)

CHAIN = Scenario(
    "chain",
    (
        VEHICLE.format(name="First", cooldown="0s")
        + """
then:
  - alert: { severity: high, title: "A car" }
  - log: "raised"
""",
        """
contract: workflow.v1
name: Second
limits: { cooldown: 0s }
when:
  alert: { min_severity: high }
then:
  - notify: { who: role:boss, message: "{title}" }
""",
    ),
    (Coming("vehicle", 0), Coming("another", 30, camera="cam-2")),
)

SCENARIOS: Mapping[str, Scenario] = {
    scenario.name: scenario
    for scenario in (EVERYTHING, EFFECTS, RETRIES, SILENCE, WAITS, SCHEDULES, LIMITS, REHEARSAL, CHAIN)
}
