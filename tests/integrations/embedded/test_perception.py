"""The built-in perception on the demo's own pictures, through the real worker and the real networks."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from siteward.core.agent import DecisionSpec, FieldType, Image, Rule, run_look
from siteward.core.errors import ConfigurationInvalid
from siteward.core.plugins.manifest import read_manifest
from siteward.integrations import embedded
from siteward.integrations.embedded.catalogue import DETECTOR, SHIPPED, SHIPPED_FOLDER, wrong_file
from siteward.integrations.embedded.perception import Perception, PerceptionSettings, open_with
from siteward.integrations.embedded.vocabulary import VOCABULARY

PICTURES = Path(embedded.__file__).parents[1] / "demo" / "pictures"
KINDS = DecisionSpec(
    ("vehicle", "empty"),
    fields={"vehicle": VOCABULARY["vehicle"], "people": VOCABULARY["people"], "plate_text": FieldType.TEXT},  # type: ignore[dict-item]
    rules=(Rule("empty", {"vehicle": ("none",), "people": ("none",)}), Rule("vehicle")),
)


def picture(name: str) -> Image:
    return Image(next(PICTURES.glob(f"{name}*.jpg")).read_bytes())


@pytest_asyncio.fixture
async def eyes(tmp_path: Path) -> AsyncIterator[Perception]:
    made = await open_with(PerceptionSettings(tmp_path / "models", deadline=120.0))
    yield made
    await made.close()


async def test_a_car_in_the_yard_is_seen_and_the_empty_yard_is_empty(eyes: Perception) -> None:
    car = await run_look(eyes, KINDS, prompt="?", images=[picture("c03")], needs_picture=True)
    empty = await run_look(eyes, KINDS, prompt="?", images=[picture("c05")], needs_picture=True)
    assert (car.decision, car.fields["vehicle"]) == ("vehicle", "car")
    assert empty.decision == "empty"
    assert car.usage.model_calls == 1


async def test_what_no_reader_measured_is_null_and_said_to_be_so(eyes: Perception) -> None:
    decision = await run_look(eyes, KINDS, prompt="?", images=[picture("c03")], needs_picture=True)
    assert decision.fields["plate_text"] is None
    assert "not measured" in decision.reason


async def test_of_several_pictures_the_one_with_a_vehicle_counts(eyes: Perception) -> None:
    images = [picture("c05"), picture("c03"), picture("c05")]
    assert (await run_look(eyes, KINDS, prompt="?", images=images)).decision == "vehicle"


async def test_a_broken_picture_is_unsure_and_the_next_one_is_looked_at(eyes: Perception) -> None:
    for broken in (b"", b"\xff\xd8\xff", b"not a picture at all", picture("c03").data[:500]):
        decision = await run_look(eyes, KINDS, prompt="?", images=[Image(broken)])
        assert (decision.decision, decision.unsure_reason) == ("unsure", "invalid_output")
    assert (await run_look(eyes, KINDS, prompt="?", images=[picture("c03")])).decision == "vehicle"


async def test_only_what_is_asked_for_is_told(eyes: Perception) -> None:
    asked: dict[str, Any] = {"properties": {"vehicle": {}, "reason": {}, "helmet": {}}}
    answer = await eyes.chat(messages=[], format=asked, images=[picture("c05")])
    assert set(json.loads(answer.content)) == {"reason", "vehicle"}
    assert set(answer.scores or {}) == {"vehicle"}


async def test_a_changed_reader_file_is_refused_before_it_is_loaded(tmp_path: Path) -> None:
    folder = tmp_path / "models" / "rapidocr"
    folder.mkdir(parents=True)
    with pytest.raises(ConfigurationInvalid, match="is missing"):
        await open_with(PerceptionSettings(tmp_path / "models"))
    (folder / "ch_PP-OCRv4_det_infer.onnx").write_bytes(b"other")
    with pytest.raises(ConfigurationInvalid, match=r"siteward models add rapidocr"):
        await open_with(PerceptionSettings(tmp_path / "models"))


def test_the_shipped_files_are_the_ones_that_the_catalogue_names() -> None:
    assert wrong_file(SHIPPED_FOLDER, SHIPPED) is None
    sums = (SHIPPED_FOLDER / "SHA256SUMS").read_text().split()
    assert dict(zip(sums[1::2], sums[::2], strict=True)) == {file.name: file.sha256 for file in SHIPPED}
    notice = (SHIPPED_FOLDER / "NOTICE").read_text()
    assert all(file.name in notice for file in SHIPPED)


def test_a_missing_model_file_is_one_clear_sentence(tmp_path: Path) -> None:
    said = wrong_file(tmp_path, (DETECTOR,))
    assert said == f"The model file nanodet_fp16w.onnx is missing in {tmp_path}."


def test_the_manifest_declares_what_is_registered() -> None:
    manifest = read_manifest((Path(embedded.__file__).parent / "manifest.yaml").read_bytes(), domain="embedded")
    assert [entry["name"] for entry in manifest.provided("models")] == [m.name for m in embedded.siteward_models()]
