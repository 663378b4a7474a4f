"""What it costs to find which workflows an event starts, with 50 and with 5,000 of them, beside a scan of the list.

The population is `benchmarks.population`'s. A sample is the mean CPU time of one event over some thousand different ones, `Index.find` alone: the look-up, the
residual tests, and one match per workflow. The scan is a careful one: a list of types, cameras and bound tests, the cheapest asked first; it gets fewer events. That the index finds what the whole test of
every trigger finds (`fits`) is checked for the first events. Events that nobody wants are of a type that no workflow names, or of a type that all of them name and a camera that none does (those that listen to every
camera left out). Every figure is the
median of five samples or more, taken in turn.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from benchmarks.harness import AtMost, Report, arguments, in_turn
from benchmarks.population import TRIGGERS, cameras_of, events, plans, unwanted
from siteward.core.engine.matcher import Index, build_index, cameras_of_use, fits
from siteward.core.engine.plan import Plan
from siteward.core.events.event import Event
from siteward.core.plugins.event_triggers import Bound, bind

EVENTS = 4000
SCANNED = {50: 4000, 5000: 200}
CHECKED = 8
MICROSECONDS = "us an event"


def found_by_index(index: Index, happened: Event) -> set[str]:
    return {match.plan.workflow_id for match in index.find(happened).matches}


def found_by_scan(workflows: Sequence[Plan], happened: Event) -> set[str]:
    return {
        plan.workflow_id
        for plan in workflows
        if any(fits(use, happened, TRIGGERS, cameras_of, plan.workflow_id) for use in plan.document.triggers)
    }


Listed = list[tuple[frozenset[str], frozenset[str], Bound | None, str]]


def listed(workflows: Sequence[Plan]) -> Listed:
    """All triggers as a careful scan would keep them: types, cameras (none: all), what else they ask, the workflow."""
    return [
        (
            frozenset(TRIGGERS[use.name].event_types(use.settings)),
            cameras_of_use(use, cameras_of),
            bind(TRIGGERS[use.name].matches, use.settings),
            plan.workflow_id,
        )
        for plan in workflows
        for use in plan.document.triggers
    ]


def scan(triggers: Listed, event: Event) -> list[str]:
    """The dearest test last."""
    return [
        workflow_id
        for types, cameras, asks, workflow_id in triggers
        if (not cameras or event.camera in cameras) and event.type in types and (asks is None or asks(event))
    ]


def built(workflows: Sequence[Plan], _: Event) -> Index:
    return build_index(workflows, TRIGGERS, cameras_of)


def of_cameras(workflows: Sequence[Plan]) -> Index:
    """The index of those that name cameras."""
    naming = [plan for plan in workflows if all("cameras" in use.settings for use in plan.document.triggers)]
    return build_index(naming, TRIGGERS, cameras_of)


def timed(work: Callable[[Event], object], happened: Sequence[Event]) -> Callable[[], float]:
    """A sampler: microseconds for one of these events."""

    def sample() -> float:
        begun = time.thread_time()
        for event in happened:
            work(event)
        return (time.thread_time() - begun) / len(happened) * 1e6

    return sample


def main() -> None:
    asked = arguments(__doc__).parse_args()
    report = Report("matching", asked)
    happened = list(events(EVENTS))
    samplers: dict[str, Callable[[], float]] = {}
    for count in (50, 5000):
        workflows = plans(count)
        index = build_index(workflows, TRIGGERS, cameras_of)
        for event in happened[:CHECKED]:
            assert found_by_index(index, event) == found_by_scan(workflows, event)
        matches = sum(len(index.find(event).matches) for event in happened) / EVENTS
        report.note(f"{count:,} workflows: {matches:.2f} matches an event.")
        samplers[f"index, {count:,} workflows"] = timed(index.find, happened)
        samplers[f"index, {count:,}, a type nobody wants"] = timed(index.find, [unwanted(event) for event in happened])
        elsewhere = [replace(event, camera="cam-none") for event in happened]
        samplers[f"index, {count:,}, a camera nobody wants"] = timed(of_cameras(workflows).find, elsewhere)
        scanned = happened[: SCANNED[count]]
        samplers[f"scan, {count:,} workflows"] = timed(partial(scan, listed(workflows)), scanned)
        samplers[f"building the index of {count:,}"] = timed(partial(built, workflows), happened[:1])
    found = in_turn(samplers, asked.rounds, report.watch)
    bounds = {"index, 5,000 workflows": AtMost(5.0)}
    for name, samples in found.items():
        unit = "us" if name.startswith("building") else MICROSECONDS
        report.add(name, unit, samples, bounds.get(name))
    for some in ("50", "5,000"):
        report.ratio(f"scan to index, {some}", found[f"scan, {some} workflows"], found[f"index, {some} workflows"])
    for kind in ("type", "camera"):
        many, few = found[f"index, 5,000, a {kind} nobody wants"], found[f"index, 50, a {kind} nobody wants"]
        report.ratio(f"5,000 to 50, a {kind} nobody wants", many, few, AtMost(1.2))
    report.finish()


if __name__ == "__main__":
    main()
