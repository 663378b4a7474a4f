"""The driver of the demo's story: a vehicle comes, Look looks, the guard lets it in, the gate opens; and the host is killed meanwhile.

Run as a program (`python -m tests.crash.demo_story 2 boundaries moments`: those parts, two cases side by side); prints JSON. It has no loop and no
thread, since it forks.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from siteward.core.demo_site import free_port, write_demo_site
from tests.crash.deaths import Kill
from tests.crash.demo_checks import demo_as_made, gate_log, violations
from tests.crash.demo_life import PATIENCE, POLL, Died, Life
from tests.crash.demo_person import NoAnswer, Person, Refused

SEED = 20260817
PASSWORD = "a gate, a guard and a password"
ALIKE = "commit.begin"
"""Dying here leaves the same file as dying at `commit.before`."""
NEAR_THE_MOVE = ("answer.committed", "intent.committed", "act.before", "act.after")
POWER_CUT, LONG_CUT = 120.0, 7200.0
"""Seconds without power: longer than an answer is good for, and longer than the question waits."""
WITHIN = "answer_within: 2m"
REPLY = "Let in"
_PORT = re.compile(r"(?<=127\.0\.0\.1:)\d+(?=\" })|(?<=gate_port: )\d+")


@dataclass(frozen=True)
class Case:
    """One story. `asked`: it begins with the question open. `kill`: a boundary; `after`: seconds after the person acted, or, with `starting`, after
    the host began to start. `down`: how long the machine was off. `script`: the host is the installed command."""

    name: str
    asked: bool
    kill: Kill | None = None
    after: float | None = None
    starting: bool = False
    down: float = 0.0
    script: bool = False
    fault: str | None = None
    first: bool = False
    """The host starts in a folder where nothing is yet."""
    worker: bool = False
    """Not the host is killed, but the process that perceives."""
    left: str | None = None
    """The state that the run must have, where only one is right."""
    shut: bool = False
    """The gate must not have opened at all."""


class Stories:
    """Two prepared demo folders (On, and with a question open), and the people of the site."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.admin = Person()
        self.guard = Person()
        self.killed = 0
        self.boundaries: dict[bool, list[Kill]] = {}
        self.first_start: list[Kill] = []

    def prepare(self) -> None:
        """Make the folders as a person would, and count the boundaries of a story that nobody disturbs."""
        place = self._folder / "on"
        write_demo_site(place / "site")
        workflow_file = place / "site" / "workflows" / "gate_concierge.yaml"
        text = workflow_file.read_text()
        assert WITHIN in text
        # The stories with a question begin at one and the same question, which must not have run out before the last of them is told.
        workflow_file.write_text(text.replace(WITHIN, "answer_within: 1h"))
        life = Life(place)
        address = life.address()
        self.first_start = _between(Counter(), _reached(life))
        account = {"code": life.code(), "name": "anna", "password": PASSWORD}
        self.admin = Person().entered(address, "/setup", account)
        guard = {"name": "guard", "password": PASSWORD}
        self.admin.call(address, "POST", "/people", {**guard, "role": "operator", "cameras": ["gate"]})
        self.guard = Person().entered(address, "/login", guard)
        workflow = self.admin.call(address, "GET", "/workflows")["workflows"][0]
        turned = {"state": "on", "base_version": workflow["version"]}
        self.admin.call(address, "POST", f"/workflows/{workflow['id']}/state", turned)
        life.stop()
        self._count()

    def _count(self) -> None:
        place = self.copy("on", "undisturbed")
        life = Life(place)
        address, reached = life.address(), _reached(life)
        self.play(address)
        self._question(life, address)
        asked = _reached(life)
        life.kill()
        self.boundaries[False] = _between(reached, asked)
        shutil.copytree(place, self._folder / "asked")
        life = Life(place)
        address, reached = life.address(), _reached(life)
        self.guard.call(address, "POST", f"/approvals/{self._question(life, address)}/reply", {"reply": REPLY})
        self._end(life, address)
        self.boundaries[True] = _between(reached, _reached(life))
        life.stop()
        if found := [*violations(place), *_not_opened(place)]:
            raise SystemExit(f"the undisturbed story: {found}")

    def copy(self, template: str, name: str) -> Path:
        """A folder of its own, with a gate on a port of its own."""
        place = self._folder / name
        shutil.copytree(self._folder / template, place)
        file = place / "site" / "configuration.yaml"
        port = str(free_port())
        text, changed = _PORT.subn(port, file.read_text())
        assert changed == 2, text
        file.write_text(text)
        return place

    # -- what people do ------------------------------------------------------------------------------------------------
    def play(self, address: str) -> None:
        """Let the next vehicle come."""
        self.admin.call(address, "POST", "/demo/next")

    def _question(self, life: Life, address: str) -> str:
        """Wait for the open question."""
        return str(_until(life, lambda: self._open(address))["id"])

    def _open(self, address: str) -> Any:
        asked = self.guard.call(address, "GET", "/approvals")["approvals"]
        return next((one for one in asked if one["state"] == "open"), None)

    def _run(self, address: str) -> Any:
        return next(iter(self.admin.call(address, "GET", "/runs")["runs"]), None)

    def _end(self, life: Life, address: str) -> Any:
        """Wait for the end of the run; answer a question that is still open."""

        def over() -> Any:
            if (asked := self._open(address)) is not None:
                try:
                    self.guard.call(address, "POST", f"/approvals/{asked['id']}/reply", {"reply": REPLY})
                except Refused as refused:
                    assert "409" in str(refused), refused  # its time was over in this very moment
            run = self._run(address)
            return run if run is not None and run["state"] not in ("running", "waiting") else None

        return _until(life, over)

    # -- a story with a kill -------------------------------------------------------------------------------------------
    def tell(self, case: Case) -> list[str]:
        """Play a case to its end; what is wrong with it."""
        if case.worker:
            return self.lose_the_worker(case.name)
        if case.first:
            return self.start_for_the_first_time(case)
        place = self.copy("asked" if case.asked else "on", case.name)
        life = Life(place, case.kill, script=case.script, fault=case.fault)
        try:
            self._until_killed(life, case)
        except (NoAnswer, Died):
            life.ended()
        life.kill()
        self.killed += life.killed()
        found = self._finish(place, case)
        shutil.rmtree(place)
        return found

    def _until_killed(self, life: Life, case: Case) -> None:
        if case.starting and case.after is not None:
            time.sleep(case.after)
            return
        address = life.address()
        if case.asked:
            path, body = f"/approvals/{self._question(life, address)}/reply", {"reply": REPLY}
            sent = self.guard.send(address, "POST", path, body)
        else:
            sent = self.admin.send(address, "POST", "/demo/next")
        if case.after is not None:
            time.sleep(case.after)
            sent.connection.close()
            return
        sent.answer()
        if case.asked:
            self._end(life, address)
        else:
            self._question(life, address)

    def _finish(self, place: Path, case: Case) -> list[str]:
        """Start again on the same folder; the vehicle comes again if nobody knows of it, and the guard answers what is open."""
        life = Life(place, ahead=case.down, fault=case.fault)
        address = life.address()
        if self._run(address) is None:
            self.play(address)
        run = self._end(life, address)
        told = self.admin.call(address, "GET", f"/runs/{run['id']}")
        gate = self.admin.call(address, "GET", "/gates")["gates"][0]["state"]
        life.stop()
        found = violations(place)
        last = next((line["did"] for line in reversed(gate_log(place)) if line["did"] != "repeat"), "close")
        if gate != {"open": "open", "close": "closed"}[last]:
            found.append(f"the gate is {gate} on the page, and its log says {last}")
        if len({step["path"] for step in told["steps"]}) != len(told["steps"]):
            found.append("the page shows a step twice")
        if case.left is not None and told["state"] != case.left:
            found.append(f"the run is {told['state']} and not {case.left}")
        if case.shut and gate_log(place):
            found.append(f"the gate moved: {gate_log(place)}")
        return found

    def start_for_the_first_time(self, case: Case) -> list[str]:
        """Kill the host while it makes the demo; the next start makes it whole, and the first account can be made."""
        place = self._folder / case.name
        place.mkdir()
        life = Life(place, case.kill)
        if case.kill is not None:
            life.ended()
        else:
            time.sleep(case.after or 0.0)
        life.kill()
        self.killed += life.killed()
        life = Life(place)
        address = life.address()
        anna = Person().entered(address, "/setup", {"code": life.code(), "name": "anna", "password": PASSWORD})
        workflows = [(one["name"], one["state"]) for one in anna.call(address, "GET", "/workflows")["workflows"]]
        life.stop()
        found = demo_as_made(place)
        if workflows != [("Gate concierge (demo)", "test")]:
            found.append(f"the page shows the workflows {workflows}")
        return found

    def lose_the_worker(self, name: str) -> list[str]:
        """Kill the process that perceives while it looks; the host lives and the guard is asked all the same."""
        place = self.copy("on", name)
        life = Life(place)
        address = life.address()
        sent = self.admin.send(address, "POST", "/demo/next")
        worker = _until(life, life.children)[0]
        os.kill(worker, 9)
        sent.answer()
        self._end(life, address)
        life.stop()
        return [*violations(place), *_not_opened(place)]


def _not_opened(place: Path) -> list[str]:
    return [] if any(line["did"] == "open" for line in gate_log(place)) else ["the gate did not open"]


def _until(life: Life, found: Callable[[], Any]) -> Any:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        if value := found():
            return value
        if not life.alive():
            raise Died(life.said())
        time.sleep(POLL)
    raise AssertionError(f"nothing came: {life.said()}")


def _reached(life: Life) -> Counter[str]:
    return Counter(life.names.read_text().split())


def _between(before: Counter[str], after: Counter[str]) -> list[Kill]:
    """The boundaries that were reached between two moments, by name and number in the life."""
    return [(name, nth) for name in sorted(after) for nth in range(before[name] + 1, after[name] + 1) if name != ALIKE]


# -- the cases -------------------------------------------------------------------------------------------------------------
def boundary_cases(stories: Stories) -> Iterable[Case]:
    """Each named boundary of each half of the story once, chosen by a seed among its times; those near the move each time."""
    chance = random.Random(SEED)
    for asked, kills in stories.boundaries.items():
        by_name: dict[str, list[Kill]] = {}
        for kill in kills:
            by_name.setdefault(kill[0], []).append(kill)
        for name, times in by_name.items():
            chosen = times if asked and name in NEAR_THE_MOVE else [chance.choice(times)]
            yield from (Case(f"{'answer' if asked else 'arrival'}-{one[0]}-{one[1]}", asked, one) for one in chosen)


def moment_cases(_stories: Stories) -> Iterable[Case]:
    """Moments chosen by a seed: while the host starts, while Look looks, and from the answer to the end."""
    chance = random.Random(SEED)
    for number in range(2):
        yield Case(f"starting-{number}", True, after=chance.uniform(0.05, 1.0), starting=True)
    for number in range(3):
        yield Case(f"looking-{number}", False, after=chance.uniform(0.0, 2.0), script=number == 0)
    for number in range(5):
        yield Case(f"answering-{number}", True, after=chance.uniform(0.0, 0.15), script=number == 0)


def power_cut_cases(stories: Stories) -> Iterable[Case]:
    """Two minutes without power between the answer and the move, and at the move itself."""
    kills = [kill for kill in stories.boundaries[True] if kill[0] in NEAR_THE_MOVE]
    answer = next(kill for kill in kills if kill[0] == "answer.committed")
    yield Case("cut-after-the-answer", True, answer, down=POWER_CUT, left="expired", shut=True)
    yield Case("cut-while-asked", True, after=0.0, starting=True, down=LONG_CUT, left="done", shut=True)
    for kill in kills:
        if kill[0] in ("intent.committed", "act.after"):
            yield Case(f"cut-{kill[0]}-{kill[1]}", True, kill, down=POWER_CUT)


def first_start_cases(stories: Stories) -> Iterable[Case]:
    """The first start of all: boundaries and moments chosen by a seed."""
    chance = random.Random(SEED)
    for name, nth in chance.sample(stories.first_start, 5):
        yield Case(f"first-{name}-{nth}", False, (name, nth), first=True)
    for number in range(3):
        yield Case(f"first-{number}", False, after=chance.uniform(0.0, 1.5), first=True)


def fault_cases(stories: Stories) -> Iterable[Case]:
    """Where a build that repeats what moves is found."""
    return [
        Case(f"fault-{kill[1]}", True, kill, fault="repeat_what_moves")
        for kill in stories.boundaries[True]
        if kill[0] == "act.after"
    ]


def worker_cases(_stories: Stories) -> Iterable[Case]:
    """The perception dies while it looks."""
    return [Case("worker", False, worker=True)]


CASES: dict[str, Callable[[Stories], Iterable[Case]]] = {
    "boundaries": boundary_cases,
    "moments": moment_cases,
    "power_cut": power_cut_cases,
    "first_start": first_start_cases,
    "fault": fault_cases,
    "worker": worker_cases,
}


def main(side_by_side: int, parts: Sequence[str]) -> None:
    """Run the parts, and print for each what was found."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        stories = Stories(Path(folder))
        stories.prepare()
        cases = [(part, case) for part in parts for case in CASES[part](stories)]
        pids = [_share(stories, cases[one::side_by_side], Path(folder, f"told-{one}")) for one in range(side_by_side)]
        statuses = [os.waitpid(pid, 0)[1] for pid in pids]
        if any(statuses):
            raise SystemExit("a driver failed")
        told = [one for number in range(side_by_side) for one in json.loads(Path(folder, f"told-{number}").read_text())]
    shown: dict[str, Any] = {
        part: {
            "names": sorted({case.kill[0] for of, case in cases if of == part and case.kill is not None}),
            "cases": sum(of == part for of, _ in cases),
            "killed": sum(killed for of, _, killed, _ in told if of == part),
            "violations": {name: wrong for of, name, _, wrong in told if of == part and wrong},
        }
        for part in parts
    }
    print(json.dumps({"parts": shown, "seconds": round(time.monotonic() - began, 1)}))  # noqa: T201


def _share(stories: Stories, cases: Sequence[tuple[str, Case]], told: Path) -> int:
    """Tell some of the cases in a process of its own; its id."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            found = []
            for part, case in cases:
                before = stories.killed
                wrong = stories.tell(case)
                found.append((part, case.name, stories.killed - before, wrong))
            told.write_text(json.dumps(found))
            code = 0
        except BaseException:
            traceback.print_exc()
            raise
        finally:
            os._exit(code)
    return pid


if __name__ == "__main__":
    _, number, *chosen_parts = sys.argv
    main(int(number), chosen_parts)
