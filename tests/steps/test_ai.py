"""`ai`: it hands on what the mode may know, takes the lane of the answer, and never fails a run."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from siteward.core.contract.document import Step
from siteward.core.contract.registry import Provenance
from siteward.core.engine.seam import AiSurroundings, Done, Labelled, Mode
from siteward.core.engine.values import fill
from siteward.core.errors import CameraDown
from siteward.core.plugins.guard import attempt_async
from siteward.core.plugins.objects import AiAnswer, AiLimits, AiMode, AiRequest, Record
from siteward.steps import host_steps
from siteward.steps.ai import LONGEST_SECONDS
from tests.steps.world import PLATE, World, provided, step, value

HOST: Any = object()
AROUND = AiSurroundings(
    HOST, vision=None, text=None, seed=7, cameras=("cam-gate",), gpu=True, site_facts="No visitors at night."
)
VAN = AiAnswer(
    "delivery",
    {"decision": "delivery", "reason": "A white van", "confidence": 0.9, "company": "DHL"},
    columns={"reason": "A white van", "confidence": 0.9, "model": "m"},
    calls=({"kind": "llm"},),
    picture="picture-2",
)


def look(**over: Any) -> Step:
    settings = {
        "mode": "look",
        "prompt": "Who is it? {plate}",
        "decision": ["delivery", "visitor"],
        "fields": {"company": "text", "plate": {"from": "{plate}"}},
        "sure": 0.7,
        **over,
    }
    return step("ai", settings, id="look")


async def decided(
    answer: AiAnswer | Callable[[AiRequest], Awaitable[AiAnswer]] = VAN,
    question: Step | None = None,
    around: AiSurroundings = AROUND,
    mode: Mode = Mode.ON,
    asked: list[AiRequest] | None = None,
) -> Done:
    async def run(request: AiRequest) -> AiAnswer:
        if asked is not None:
            asked.append(request)
        return answer if isinstance(answer, AiAnswer) else await answer(request)

    world = World(
        values={"plate": PLATE, "zone": value("barrier")},
        around=around,
        mode=mode,
        skills=provided(AiMode("look", run)),
    )
    found = await host_steps()["ai"].start(question or look(), world)
    assert isinstance(found, Done)
    return found


async def request(question: Step | None = None, around: AiSurroundings = AROUND, mode: Mode = Mode.ON) -> AiRequest:
    asked: list[AiRequest] = []
    await decided(question=question, around=around, mode=mode, asked=asked)
    return asked[0]


async def test_the_decision_picks_the_lane() -> None:
    found = await decided()
    assert (found.outcome, found.ai, found.authority) == ("delivery", True, None)
    assert found.columns["confidence"] == 0.9
    assert found.calls == ({"kind": "llm"},)
    assert found.result["picture"] == "picture-2"


async def test_everything_that_it_gives_is_ais() -> None:
    found = await decided(AiAnswer("delivery", {"plate": "B-AB 123", "reason": "x"}, backstops={"plate": "plate"}))
    assert {one.provenance for one in found.values.values()} == {Provenance.AI}
    assert not any(one.authorises for one in found.values.values())
    assert found.result["backstops"] == {"plate": "plate"}


async def test_the_mode_gets_the_settings_as_written_and_values_without_labels() -> None:
    asked = await request(look(limits={"seconds": 45}))
    assert asked.settings == {
        "prompt": "Who is it? {plate}",
        "decision": ["delivery", "visitor"],
        "fields": {"company": "text", "plate": {"from": "{plate}"}},
        "sure": 0.7,
    }
    assert asked.values == {"plate": "B-AB 123", "zone": "barrier"}
    assert (asked.cameras, asked.gpu, asked.seed, asked.site_facts) == (("cam-gate",), True, 7, "No visitors at night.")


async def test_limits_of_the_step_reach_the_mode() -> None:
    limits = {"tool_calls": 4, "model_calls": 2, "seconds": 45, "tokens": 900}
    assert (await request(look(limits=limits))).limits == AiLimits(4, 2, 45, 900)
    assert (await request()).limits == AiLimits()


@pytest.mark.parametrize(("written", "left", "calls"), [(None, 3, 3), (2, 3, 2), (5, 3, 3), (5, None, 5)])
async def test_no_step_takes_more_calls_than_the_hour_has_left(
    written: int | None, left: int | None, calls: int
) -> None:
    around = AiSurroundings(HOST, None, None, 7, calls_left=left)
    limits = {} if written is None else {"limits": {"model_calls": written}}
    assert (await request(look(**limits), around)).limits.model_calls == calls


async def test_without_calls_left_it_is_unsure_and_asks_no_model() -> None:
    asked: list[AiRequest] = []
    found = await decided(around=AiSurroundings(HOST, None, None, 7, calls_left=0), asked=asked)
    assert (found.outcome, found.columns["unsure_reason"]) == ("unsure", "over_budget")
    assert asked == []


@pytest.mark.parametrize(
    ("mode", "stored"), [(Mode.ON, False), (Mode.TEST, False), (Mode.TRY, True), (Mode.REPLAY, True)]
)
async def test_a_try_decides_on_the_stored_picture(mode: Mode, stored: bool) -> None:
    assert (await request(mode=mode)).stored_only is stored


async def broken(request: AiRequest) -> AiAnswer:
    raise RuntimeError("a bug")


async def camera_down(request: AiRequest) -> AiAnswer:
    raise CameraDown("The camera gate gives no picture.")


@pytest.mark.parametrize(("mode", "said"), [(broken, "RuntimeError"), (camera_down, "gives no picture")])
async def test_a_mode_that_raises_is_unsure(mode: Any, said: str) -> None:
    found = await decided(mode)
    assert (found.outcome, found.columns["unsure_reason"]) == ("unsure", "error")
    assert said in found.values["reason"].value


async def test_a_mode_that_never_answers_is_unsure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("siteward.steps.ai.SPARE_SECONDS", 0.0)

    async def never(request: AiRequest) -> AiAnswer:
        await asyncio.Event().wait()
        return VAN

    found = await decided(never, look(limits={"seconds": 0.001}))
    assert (found.outcome, found.columns["unsure_reason"]) == ("unsure", "over_budget")


async def test_no_file_makes_a_step_take_longer_than_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []

    async def attempt(work: Any, seconds: float) -> Any:
        waited.append(seconds)
        return await attempt_async(work, seconds)

    monkeypatch.setattr("siteward.steps.ai.attempt_async", attempt)
    await decided(question=look(limits={"seconds": 86400}))
    assert waited == [LONGEST_SECONDS + 15.0]


async def test_stopping_the_host_stops_the_step() -> None:
    begun = asyncio.Event()

    async def endless(request: AiRequest) -> AiAnswer:
        begun.set()
        await asyncio.Event().wait()
        raise AssertionError

    deciding = asyncio.create_task(decided(endless))
    await begun.wait()
    deciding.cancel()
    with pytest.raises(asyncio.CancelledError):
        await deciding


async def test_a_mode_whose_own_task_was_cancelled_is_unsure() -> None:
    async def gone(request: AiRequest) -> AiAnswer:
        raise asyncio.CancelledError

    found = await decided(gone)
    assert (found.outcome, found.columns["unsure_reason"]) == ("unsure", "error")


async def test_a_mode_that_nobody_provides_is_unsure() -> None:
    found = await decided(question=look(mode="dream"))
    assert (found.outcome, found.columns["unsure_reason"]) == ("unsure", "error")


async def test_a_decision_that_the_step_does_not_list_is_unsure() -> None:
    found = await decided(
        AiAnswer("open_the_gate", {"decision": "open_the_gate", "reason": "x"}, calls=({"kind": "llm"},))
    )
    assert (found.outcome, found.values["decision"].value) == ("unsure", "unsure")
    assert found.calls == ({"kind": "llm"},)


async def test_fields_that_nobody_filled_read_as_unknown_in_the_next_question() -> None:
    found = await decided(AiAnswer("unsure", {"reason": "The model is down.", "confidence": None}))
    text = fill("{company}: {reason} ({confidence})", found.values)
    assert text.value == "unknown: The model is down. (not measured)"
    assert text.provenance is Provenance.AI


async def test_its_line_joins_the_messages_that_wait_for_it() -> None:
    assert (await decided()).records == (Record("update", {"update_with": "look", "message": "A white van"}),)
    nameless = step("ai", {"mode": "look", "decision": ["delivery", "visitor"], "prompt": "x"})
    assert (await decided(question=nameless)).records == ()


async def test_what_it_decided_cannot_be_read_as_an_identity() -> None:
    found = await decided(
        AiAnswer("delivery", {"plate": Labelled("B-AB 123", Provenance.SENSOR, authorises=True).value, "reason": ""})
    )
    assert not found.values["plate"].authorises
