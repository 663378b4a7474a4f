"""A vehicle comes to the gate and nobody can see it: the camera is down, or the model is not there. The guard is asked all the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from siteward.core.contract.document import State
from siteward.core.contract.registry import Provenance
from siteward.core.demo_site import write_demo_site
from siteward.core.events.event import Event
from siteward.core.host import Host, open_host
from siteward.core.store.schema import workflow_approvals, workflow_run_steps, workflow_runs

EYES = "kind: embedded.perception"
CAMERA = "{ id: gate, name: Gate, kind: demo.camera, roles: [gate] }"


def changed(folder: Path, old: str, new: str) -> Path:
    """A demo site with one line of its configuration changed."""
    write_demo_site(folder)
    file = folder / "configuration.yaml"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    return folder


async def a_vehicle_comes(host: Host, camera: str) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """The run, its Look and its question."""
    await host.start()
    (workflow,) = host.engine.catalog
    await host.engine.set_state(workflow.id, State.ON, "user:anna")
    at = host.site.clock.now()
    payload = {"zone": "gate_apron", "seconds": 5, "label": "car", "track": "v1"}
    event = Event("v1", "detect.vehicle_in_zone", "detector", Provenance.SENSOR, at, camera, payload=payload)
    await host.engine.accept(event)
    await host.engine.drain()
    (run,) = await host.site.store.read(select(workflow_runs))
    (look,) = await host.site.store.read(select(workflow_run_steps).where(workflow_run_steps.c.kind == "ai"))
    (asked,) = await host.site.store.read(select(workflow_approvals))
    return dict(run), dict(look), dict(asked)


@pytest.mark.parametrize(
    ("old", "new", "camera", "says"),
    [
        (
            CAMERA,
            "{ id: lane, name: Lane, kind: demo.camera, roles: [gate] }",
            "lane",
            "The demo has no pictures for a camera lane; its cameras are gate, yard.",
        ),
        (
            CAMERA,
            '{ id: gate, name: Gate, kind: camera.http, settings: { url: "http://127.0.0.1:9/x.jpg" }, roles: [gate] }',
            "gate",
            "Gate",
        ),
        (
            CAMERA,
            "{ id: gate, name: Gate, kind: no.such, roles: [gate] }",
            "gate",
            "The camera Gate is of the kind no.such, which no loaded integration opens.",
        ),
        (EYES, "kind: no.such", "gate", "The site has no vision model."),
    ],
    ids=["a camera that is not there", "a camera that does not answer", "a camera of no kind", "no model"],
)
async def test_look_is_unsure_says_why_and_the_guard_is_asked(
    tmp_path: Path, old: str, new: str, camera: str, says: str
) -> None:
    async with open_host(changed(tmp_path, old, new)) as host:
        run, look, asked = await a_vehicle_comes(host, camera)
    assert run["state"] == "waiting"
    assert (look["status"], look["outcome"]) == ("done", "unsure")
    assert says.lower() in look["reason"].lower()
    assert asked["state"] == "open"
    assert [one["reply"] for one in json.loads(asked["replies"])] == ["Let in", "Send away"]
