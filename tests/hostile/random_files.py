"""Random workflows out of the parts that matter to safety: models, people, rules, loops, waits and moves, in any order and depth."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from random import Random
from typing import Any

TRIGGERS: tuple[dict[str, Any], ...] = (
    {"event": {"type": "plate.recognized.v1", "cameras": ["gate"]}},
    {"detect.vehicle_in_zone": {"cameras": ["gate"], "zone": "barrier"}},
    {"alert": {"types": ["delivery"], "cameras": ["gate"]}},
    {"message": {}},
    {"button": {"name": "gate"}},
)
RULES: tuple[dict[str, Any], ...] = (
    {"time": {"from": "08:00", "to": "18:00"}},
    {"site_mode": ["disarmed"]},
    {"days": ["mon"]},
)


@dataclass
class Writer:
    """Writes one file. `left` bounds the steps; `ids` are the AI steps and waits so far whose names may be read."""

    random: Random
    left: int
    plate: bool = False
    looks: list[str] = field(default_factory=list)
    waits: list[str] = field(default_factory=list)
    made: int = 0

    def file(self) -> str:
        trigger = self.random.choice(TRIGGERS)
        self.plate = "event" in trigger
        made: dict[str, Any] = {"name": "Random", "when": trigger}
        if self.random.random() < 0.4:
            made["if"] = self.conditions()
        made["then"] = self.steps(0, ())
        if self.random.random() < 0.25:
            self.looks, self.waits = [], []
            made["always"] = self.steps(1, ())
        return json.dumps(made, indent=1)

    def steps(self, depth: int, items: tuple[str, ...]) -> list[dict[str, Any]]:
        """A lane. What a step inside it gives is not read after it: not every path gives it."""
        looks, waits = list(self.looks), list(self.waits)
        made = [self.step(depth, items) for _ in range(self.random.randint(1, 3 if depth == 0 else 2))]
        self.looks, self.waits = looks, waits
        return made

    def step(self, depth: int, items: tuple[str, ...]) -> dict[str, Any]:
        self.left -= 1
        kinds = [self.move] * 4 + [self.log]
        if depth < 3 and self.left > 0:
            kinds += [self.look] * 2 + [self.ask] * 3 + [self.rule] * 3 + [self.loop] + [self.wait_for]
        return self.random.choice(kinds)(depth, items)

    def new_id(self, kind: str) -> str:
        self.made += 1
        return f"{kind}{self.made}"

    def log(self, depth: int, items: tuple[str, ...]) -> dict[str, Any]:
        return {"log": "seen"}

    def value(self, items: tuple[str, ...]) -> str:
        """Something to carry: what the author wrote, an item, or what a model or a message said."""
        said = [f"{{{look}.gate}}" for look in self.looks] + [f"{{{wait}.text}}" for wait in self.waits]
        return self.random.choice(["main_gate", *(f"{{{item}}}" for item in items), *said])

    def move(self, depth: int, items: tuple[str, ...]) -> dict[str, Any]:
        if self.random.random() < 0.3:
            return {"webhook": {"to": "door", "body": {"open": self.value(items)}}}
        return {"gate.open": {"gate": self.value(items)}}

    def look(self, depth: int, items: tuple[str, ...]) -> dict[str, Any]:
        name = self.new_id("look")
        made: dict[str, Any] = {"mode": "look", "prompt": "Who is there", "decision": ["known"]}
        made["fields"] = {"gate": ["main_gate", "vault"], "gates": "list"}
        known = self.inside(depth, items, look=name)
        unsure = self.inside(depth, items, look=name)
        self.looks.append(name)
        return {"id": name, "ai": {**made, "known": known, "unsure": unsure}}

    def inside(self, depth: int, items: tuple[str, ...], *, look: str | None = None, wait: str | None = None) -> Any:
        looks, waits = list(self.looks), list(self.waits)
        self.looks += [look] if look else []
        self.waits += [wait] if wait else []
        made = self.steps(depth + 1, items)
        self.looks, self.waits = looks, waits
        return made

    def ask(self, depth: int, items: tuple[str, ...]) -> dict[str, Any]:
        shown = [self.value(items) for _ in range(self.random.randint(0, 2))]
        ask: dict[str, Any] = {"who": "role:guard", "message": " ".join(["In?", *shown]), "replies": ["Yes", "No"]}
        made: dict[str, Any] = {"ask_person": {**ask, "timeout": "60s"}, "Yes": self.steps(depth + 1, items)}
        if self.random.random() < 0.3:
            made["No"] = self.steps(depth + 1, items)
        if self.random.random() < 0.2:
            made["no_answer"] = self.steps(depth + 1, items)
        elif self.random.random() < 0.1:
            made["ask_person"]["default"] = "No"
        return made

    def conditions(self) -> list[dict[str, Any]]:
        return [self.condition(0) for _ in range(self.random.randint(1, 2))]

    def condition(self, depth: int) -> dict[str, Any]:
        options: list[dict[str, Any]] = [*RULES]
        if self.plate:
            options += [{"in_list": {"value": "{plate}", "list": "expected"}}] * 3
            options += [{"value": {"of": "{plate}", "is": "KA01"}}]
        options += [{"value": {"of": f"{{{look}.gate}}", "is": "vault"}} for look in self.looks]
        options += [{"count": {"events": {"type": "alert", "last": "10m"}, "at_least": 1}}]
        if depth < 1 and self.random.random() < 0.25:
            return {self.random.choice(["any", "not"]): [self.condition(1) for _ in range(self.random.randint(1, 2))]}
        return self.random.choice(options)

    def rule(self, depth: int, items: tuple[str, ...]) -> dict[str, Any]:
        made: dict[str, Any] = {"if": self.conditions(), "true": self.steps(depth + 1, items)}
        if self.random.random() < 0.3:
            made["false"] = self.steps(depth + 1, items)
        return made

    def loop(self, depth: int, items: tuple[str, ...]) -> dict[str, Any]:
        sources: list[Any] = [["main_gate", "back_gate"], "list:expected", {"events": {"last": "1h", "type": "alert"}}]
        sources += [f"{{{look}.gates}}" for look in self.looks]
        source = self.random.choice(sources)
        name = self.new_id("item")
        readable = (*items, name) if not isinstance(source, dict) and source != "list:expected" else items
        return {"for_each": {"in": source, "as": name, "do": self.steps(depth + 1, readable)}}

    def wait_for(self, depth: int, items: tuple[str, ...]) -> dict[str, Any]:
        if self.random.random() < 0.5:
            gate = {"gate.changed": {"to": "closed"}, "timeout": "2m"}
            return {"wait_for": gate, "happened": self.steps(depth + 1, items)}
        name = self.new_id("wait")
        happened = self.inside(depth, items, wait=name)
        return {"id": name, "wait_for": {"message": {}, "timeout": "2m"}, "happened": happened}


def random_file(seed: int, *, steps: int = 10) -> str:
    """The file of a seed."""
    return Writer(Random(seed), steps).file()
