"""Over HTTP: a changed AI step is saved beside what is On, both runs are listed, and one call turns it On."""

import pytest

from .conftest import Visitors
from .house import CONCIERGE, Browser, House
from .test_story import turned_on

ASKS_ANEW = CONCIERGE.replace("What stands at the gate?", "Who stands at the gate?")


async def change(person: Browser, workflow_id: str, text: str, base: int) -> dict[str, object]:
    saved = await person.post(f"/workflows/{workflow_id}", {"text": text, "base_version": base}, method="PUT")
    assert isinstance(saved, dict)
    return saved


async def test_a_changed_question_is_saved_beside_what_is_on_until_it_is_turned_on(
    house: House, visit: Visitors
) -> None:
    anna = await visit("anna")
    workflow_id = await turned_on(anna)
    assert (await change(anna, workflow_id, ASKS_ANEW, 1))["on_version"] == 1
    whole = await anna.get(f"/workflows/{workflow_id}")
    assert (whole["state"], whole["version"], whole["on_version"]) == ("on", 2, 1)
    assert (whole["text"], whole["on_text"]) == (ASKS_ANEW, CONCIERGE)
    await house.vehicle()
    runs = (await anna.get(f"/workflows/{workflow_id}/runs"))["runs"]
    assert sorted((run["version"], run["mode"], run["state"]) for run in runs) == [
        (1, "on", "waiting"),
        (2, "test", "done"),
    ]
    assert {run["id"] for run in (await anna.get("/runs"))["runs"]} == {run["id"] for run in runs}
    (listed,) = (await anna.get("/workflows"))["workflows"]
    assert (listed["version"], listed["on_version"]) == (2, 1)
    await anna.post(f"/workflows/{workflow_id}/state", {"state": "on", "base_version": 2})
    (listed,) = (await anna.get("/workflows"))["workflows"]
    assert (listed["version"], listed["on_version"], listed["state"]) == (2, None, "on")


async def test_an_edit_of_anything_else_says_that_it_holds_at_once(house: House, visit: Visitors) -> None:
    anna = await visit("anna")
    workflow_id = await turned_on(anna)
    assert (await change(anna, workflow_id, CONCIERGE.replace("timeout: 2m", "timeout: 3m"), 1))["on_version"] is None
    assert (await anna.get(f"/workflows/{workflow_id}"))["on_text"] is None


@pytest.mark.parametrize("version", [1, 3])
async def test_a_version_that_nobody_looked_at_is_not_turned_on(house: House, visit: Visitors, version: int) -> None:
    anna = await visit("anna")
    workflow_id = await turned_on(anna)
    await change(anna, workflow_id, ASKS_ANEW, 1)
    asked = {"state": "on", "base_version": version}
    assert (await anna.ask("POST", f"/workflows/{workflow_id}/state", asked)).status == 409
    assert (await anna.get(f"/workflows/{workflow_id}"))["on_version"] == 1


async def test_what_is_on_and_moves_things_is_replaced_by_an_admin_only(house: House, visit: Visitors) -> None:
    """Also where the version that runs in Test beside it moves nothing."""
    anna, gina = await visit("anna"), await visit("gina")
    workflow_id = await turned_on(anna)
    harmless = ASKS_ANEW.replace("- gate.open: { gate: gate }", "- log: opened")
    assert (await change(anna, workflow_id, harmless, 1))["on_version"] == 1
    again = {"text": CONCIERGE.replace("- gate.open: { gate: gate }", "- log: opened"), "base_version": 2}
    refused = await gina.ask("PUT", f"/workflows/{workflow_id}", again)
    assert (refused.status, refused.json["code"]) == (403, "workflow.needs_admin")
