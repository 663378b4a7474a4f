"""What an author's tests get: actions that only remember, and every way in which a file can go."""

from __future__ import annotations

from typing import cast

from siteward.core.contract.document import Document
from siteward.core.contract.registry import Provenance, Repeat
from siteward.core.events.event import Event
from siteward.core.plugins.objects import ActionCall, Host
from siteward.sdk.choices import Trace
from siteward.sdk.scripted import NOW
from siteward.sdk.testing import Choices, Interpreter, SimulatedClock, every_run, scripted_actions
from tests.contract.corpus_files import REGISTRY, document_of

EVENT = Event("e", "button", "page", Provenance.PERSON, NOW)


def call(action: str) -> ActionCall:
    return ActionCall(action, {}, "key", "run", "workflow", "then.0", "", 0, EVENT)


async def test_a_scripted_action_remembers_its_call_and_does_nothing_else() -> None:
    calls: list[ActionCall] = []
    actions = scripted_actions(REGISTRY, calls)
    assert set(actions) == set(REGISTRY.actions)
    for name, action in actions.items():
        asked = call(name)
        if action.repeat is Repeat.WITH_STEP:
            assert action.record is not None
            assert action.record(asked, SimulatedClock()) == ()
        else:
            assert action.perform is not None
            await action.perform(asked, cast(Host, None))
        assert calls[-1] is asked


async def ways(document: Document) -> list[Trace]:
    return [trace async for trace in every_run(Interpreter(REGISTRY), document)]


async def test_every_way_is_gone_once() -> None:
    ask = '{ ask_person: { who: role:guard, message: a, replies: [Yes, No], timeout: 60s }, "Yes": [ gate.open: { gate: g } ] }'
    document = document_of(
        f"name: a\nwhen: {{ button: {{ name: b }} }}\nif: [ site_mode: [disarmed] ]\nthen: [ {ask} ]\n"
    )
    traces = await ways(document)
    assert len({tuple(trace.choices.items()) for trace in traces}) == len(traces) == 4
    assert [[moved.target for moved in trace.moves] for trace in traces].count(["g"]) == 1


async def test_one_way_can_be_gone_again() -> None:
    document = document_of(
        "name: a\nwhen: { button: { name: b } }\nif: [ site_mode: [disarmed] ]\nthen: [ gate.open: { gate: g } ]\n"
    )
    for trace in await ways(document):
        again = await Interpreter(REGISTRY).perform(document, Choices(trace.choices))
        assert again.choices == trace.choices
        assert [moved.target for moved in again.moves] == [moved.target for moved in trace.moves]
