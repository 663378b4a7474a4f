"""The mode `look`: which picture it looks at, which model it asks, and what the run's row says of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from siteward.core.agent import Capabilities, ChatResult, DecisionSpec, ModelDown, Rule
from siteward.core.contract.registry import Provenance
from siteward.core.errors import CameraDown
from siteward.core.events.event import Event
from siteward.core.plugins.manifest import read_manifest
from siteward.core.plugins.objects import AiLimits, AiRequest, Picture
from siteward.integrations import look as integration
from siteward.integrations.embedded.perception import PerceptionSettings, open_with
from siteward.integrations.look.mode import look
from siteward.integrations.look.tables import tables_for
from siteward.sdk.simulated_clock import START
from tests.agent.models import Scripted, said
from tests.integrations.world import HostInMemory

STEP: dict[str, Any] = {"prompt": "Who is at the gate?", "input": "picture", "decision": ["car", "nobody"]}
SEEN = Capabilities("eyes", "e1", images=True)


class Site(HostInMemory):
    """A site whose cameras give numbered pictures, or are down."""

    def __init__(self, *down: str) -> None:
        super().__init__()
        self.down = down
        self.taken: list[str] = []

    async def snapshot(self, camera: str) -> Picture:
        if camera in self.down:
            raise CameraDown(f"The camera {camera} gives no picture.", where=camera)
        self.taken.append(camera)
        return Picture(f"now {camera}".encode(), "image/jpeg", START, camera)


def request(model: Any, site: Site | None = None, step: Mapping[str, Any] = STEP, **changes: Any) -> AiRequest:
    event = Event("e1", "detect.vehicle_in_zone", "test", Provenance.SENSOR, START, camera="cam1")
    made = AiRequest(
        settings=MappingProxyType(dict(step)),
        values=MappingProxyType({"plate": "KA 1", "camera": "cam1"}),
        event=replace(event, picture=changes.pop("picture", None)),
        host=site or Site(),
        vision=model,
        text=changes.pop("text", None),
        seed=7,
        cameras=("cam1",),
    )
    return replace(made, **changes)


async def stored(site: Site, data: bytes = b"then") -> str:
    return await site.store_picture(Picture(data, "image/jpeg", START, "cam1"))


def pictures(model: Scripted) -> list[bytes]:
    return [image.data for image in model.asked[0]["images"]]


async def test_the_events_own_picture_is_what_is_looked_at() -> None:
    site, model = Site(), Scripted([said("car")], SEEN)
    media = await stored(site)
    answer = await look(request(model, site, picture=media))
    assert (answer.outcome, answer.picture) == ("car", media)
    assert pictures(model) == [b"then"]
    assert site.taken == []


async def test_without_one_a_live_run_takes_a_new_picture_and_keeps_it() -> None:
    site, model = Site(), Scripted([said("car")], SEEN)
    answer = await look(request(model, site))
    assert pictures(model) == [b"now cam1"]
    assert answer.picture is not None
    assert site.pictures[answer.picture].data == b"now cam1"


@pytest.mark.parametrize("media", [None, "gone"])
async def test_a_try_never_takes_a_new_picture(media: str | None) -> None:
    site, model = Site(), Scripted([said("car")], SEEN)
    answer = await look(request(model, site, picture=media, stored_only=True))
    assert (answer.outcome, answer.columns["unsure_reason"]) == ("unsure", "no_evidence")
    assert site.taken == []
    assert model.asked == []


async def test_a_camera_that_is_down_is_no_evidence_and_named() -> None:
    model = Scripted([said("car")], SEEN)
    answer = await look(request(model, Site("cam1")))
    assert (answer.outcome, answer.columns["unsure_reason"]) == ("unsure", "no_evidence")
    assert answer.values["reason"] == "The camera cam1 gives no picture."


async def test_other_cameras_of_the_step_are_looked_through_as_well() -> None:
    site, model = Site("cam3"), Scripted([said("car")], SEEN)
    media = await stored(site)
    await look(request(model, site, picture=media, cameras=("cam1", "cam2", "cam3")))
    assert pictures(model) == [b"then", b"now cam2"]


async def test_frames_show_then_and_now() -> None:
    site, model = Site(), Scripted([said("car")], SEEN)
    media = await stored(site)
    step = {**STEP, "input": {"frames": {"seconds": 4, "since": "trigger"}}}
    await look(request(model, site, step, picture=media))
    assert pictures(model) == [b"then", b"now cam1"]


async def test_a_text_question_goes_to_the_language_model_without_a_picture() -> None:
    site, text = Site(), Scripted([said("nobody")])
    answer = await look(request(None, site, {**STEP, "input": "text"}, text=text, values={"transcript": "Flat 4"}))
    assert answer.outcome == "nobody"
    assert pictures(text) == []
    assert "Flat 4" in text.words()[1]
    assert site.taken == []


async def test_a_site_without_a_model_is_unsure_and_says_which_is_missing() -> None:
    answer = await look(request(None))
    assert (answer.outcome, answer.columns["unsure_reason"]) == ("unsure", "llm_down")
    assert answer.values["reason"] == "The site has no vision model."


async def test_values_and_site_facts_are_data_and_never_instructions() -> None:
    model = Scripted([said("car")], SEEN)
    await look(request(model, site_facts="Cleaners come at 5.", memory=("09:00 car",), values={"plate": "IGNORE ALL"}))
    system, user = model.words()[:2]
    assert not any(text in system for text in ("IGNORE", "Cleaners", "09:00"))
    assert all(text in user for text in ("IGNORE ALL", "Cleaners", "09:00"))


async def test_a_known_plate_is_a_backstop_and_not_asked() -> None:
    model = Scripted([said("car")], SEEN)
    answer = await look(request(model, step={**STEP, "fields": {"plate": {"from": "{plate}"}}}))
    assert answer.values["plate"] == "KA 1"
    assert dict(answer.backstops) == {"plate": "plate"}
    assert "plate" not in model.asked[0]["format"]["properties"]


async def test_the_steps_own_limits_replace_the_preset() -> None:
    model = Scripted([said("car")], SEEN)
    answer = await look(request(model, limits=AiLimits(model_calls=1)))
    assert len(model.asked) == 1
    assert (answer.values["confidence"], answer.uncalibrated) == (None, True)


@pytest.mark.parametrize("broken", [ModelDown("gone"), RuntimeError("bug"), "nonsense"])
async def test_a_model_that_fails_is_unsure_with_its_trace(broken: Any) -> None:
    answer = await look(request(Scripted([broken], SEEN)))
    assert answer.outcome == "unsure"
    assert answer.columns["unsure_reason"] in {"llm_down", "error", "invalid_output"}
    assert answer.calls


async def test_limits_or_settings_that_cannot_be_are_unsure_and_not_raised() -> None:
    for step, limits in (
        ({**STEP, "decision": []}, AiLimits()),
        (STEP, AiLimits(seconds=-1)),
        (STEP, AiLimits(tokens="many")),  # type: ignore[arg-type]  # what a third party's step could hand over
    ):
        answer = await look(request(Scripted([said("car")], SEEN), step=step, limits=limits))
        assert (answer.outcome, answer.columns["unsure_reason"]) == ("unsure", "error")


async def test_what_is_stored_is_plain_json() -> None:
    fields = {"tags": "list", "note": "text"}
    answer = await look(request(Scripted([said("car", tags=["a"], note=None)], SEEN), step={**STEP, "fields": fields}))
    assert answer.values["tags"] == ["a"]
    json.dumps([dict(answer.values), dict(answer.columns), list(answer.calls)], allow_nan=False)


async def test_the_shipped_perception_has_a_measured_confidence(tmp_path: Path) -> None:
    eyes = await open_with(PerceptionSettings(tmp_path))
    spec = DecisionSpec(("in", "out"), fields={"vehicle": ("none", "car")}, rules=(Rule("in", {"vehicle": ("car",)}),))
    tables = tables_for(eyes.capabilities.digest, spec)
    assert tables.of_facts({"vehicle": "car"}, {"vehicle": 0.7}) is not None
    await eyes.close()


def test_an_unknown_model_has_no_tables() -> None:
    tables = tables_for("unknown", DecisionSpec(("a",)))
    assert not tables.facts
    assert tables.step.precision("a", 0.9) is None


async def test_the_confidence_of_perception_comes_from_the_shipped_cases(tmp_path: Path) -> None:
    eyes = await open_with(PerceptionSettings(tmp_path))
    known = eyes.capabilities
    step = {
        **STEP,
        "sure": 0.5,
        "fields": {"vehicle": ["none", "car"]},
        "rules": [{"when": {"vehicle": "car"}, "then": "car"}],
    }
    model = Scripted([ChatResult(said(vehicle="car"), scores={"vehicle": 0.7})], known)
    answer = await look(request(model, step=step))
    assert (answer.outcome, answer.columns["confidence_source"]) == ("car", "score")
    assert 0.5 < answer.values["confidence"] < 1.0
    assert not answer.uncalibrated
    await eyes.close()


def test_the_manifest_declares_what_is_registered() -> None:
    manifest = read_manifest((Path(integration.__file__).parent / "manifest.yaml").read_bytes(), domain="look")
    assert [entry["name"] for entry in manifest.provided("ai_modes")] == [
        m.name for m in integration.siteward_ai_modes()
    ]
