"""The story over HTTP: a vehicle comes, a person lets it in, every step is in the run."""

import threading
from typing import Any

import pytest
from sqlalchemy import select

from siteward.core.api import judging
from siteward.core.contract import explain
from siteward.core.store.schema import audit, workflow_approvals

from .conftest import Visitors
from .house import CONCIERGE, YARD_LOG, Browser, House


async def turned_on(person: Browser, text: str = CONCIERGE) -> str:
    saved = await person.post("/workflows", {"text": text})
    await person.post(f"/workflows/{saved['id']}/state", {"state": "on", "base_version": saved["version"]})
    return str(saved["id"])


async def asked(house: House, person: Browser) -> dict[str, object]:
    await house.vehicle()
    (ask,) = (await person.get("/approvals?open=true"))["approvals"]
    assert isinstance(ask, dict)
    return ask


async def test_a_guard_lets_a_delivery_in_and_every_step_is_in_the_run(house: House, visit: Visitors) -> None:
    anna, gina = await visit("anna"), await visit("gina")
    await turned_on(anna)
    assert (await gina.post("/demo/next"))["scene"] == "a van at the gate"
    (ask,) = (await gina.get("/approvals?open=true"))["approvals"]
    assert ask["may_answer"] is True
    assert ask["replies"][0] == {"reply": "Let in", "moves": ask["replies"][0]["moves"]}
    assert ask["replies"][0]["moves"] and not ask["replies"][1]["moves"]
    assert ask["shown"]["reason"] == {"value": "a parcel van", "from": "ai"}
    assert (await gina.ask("GET", f"/media/{ask['picture']}")).headers["Content-Type"] == "image/jpeg"
    await gina.post(f"/approvals/{ask['id']}/reply", {"reply": "Let in"})
    await house.engine.drain()
    assert [call.arguments["gate"] for call in house.outside.named("gate.open")] == ["gate"]
    run = await gina.get(f"/runs/{ask['run_id']}")
    assert run["state"] == "done"
    assert [(step["kind"], step["status"], step["outcome"]) for step in run["steps"]] == [
        ("ai", "done", "delivery"),
        ("ask_person", "done", "Let in"),
        ("gate.open", "done", None),
    ]
    assert run["steps"][0]["model"]["reason"] == "a parcel van"
    assert run["approvals"][0]["answered_by"] == "user:gina"
    (listed,) = (await gina.get("/workflows"))["workflows"]
    assert (listed["runs_today"], listed["last_run"]["outcome"]) == (1, "Let in")
    log = (await gina.get("/gates"))["log"]
    assert [(move["action"], move["gate"], move["status"]) for move in log] == [("gate.open", "gate", "done")]


async def test_the_first_answer_stands_and_the_second_is_told_whose_it_was(house: House, visit: Visitors) -> None:
    anna, gina = await visit("anna"), await visit("gina")
    await turned_on(anna)
    ask = await asked(house, gina)
    await gina.post(f"/approvals/{ask['id']}/reply", {"reply": "Send away"})
    late = await anna.ask("POST", f"/approvals/{ask['id']}/reply", {"reply": "Let in"})
    assert (late.status, late.json["code"]) == (409, "approval.closed")
    assert "gina" in late.json["detail"]
    await house.engine.drain()
    assert not house.outside.named("gate.open")


async def test_a_reply_that_was_not_offered_is_refused(house: House, visit: Visitors) -> None:
    anna = await visit("anna")
    await turned_on(anna)
    ask = await asked(house, anna)
    assert (await anna.ask("POST", f"/approvals/{ask['id']}/reply", {"reply": "no_answer"})).status == 422


async def test_after_the_time_a_reply_opens_nothing(house: House, visit: Visitors) -> None:
    anna, gina = await visit("anna"), await visit("gina")
    await turned_on(anna)
    ask = await asked(house, gina)
    await house.clock.advance(121)
    await house.engine.drain()
    assert (await gina.ask("POST", f"/approvals/{ask['id']}/reply", {"reply": "Let in"})).status == 409
    assert not house.outside.named("gate.open")
    assert [alert["title"] for alert in (await gina.get("/alerts"))["alerts"]] == ["Nobody answered at the gate"]


async def test_acknowledging_all_alerts_leaves_the_questions(house: House, visit: Visitors) -> None:
    anna = await visit("anna")
    await turned_on(anna)
    await turned_on(anna, YARD_LOG)
    ask = await asked(house, anna)
    await house.walker()
    assert await anna.post("/alerts/acknowledge") == {"acknowledged": 1}
    (alert,) = (await anna.get("/alerts"))["alerts"]
    assert alert["acknowledged_by"] == "user:anna"
    assert (await anna.get(f"/approvals/{ask['id']}"))["state"] == "open"


async def test_a_guard_cannot_turn_on_what_moves_and_an_admin_can(house: House, visit: Visitors) -> None:
    anna, gina = await visit("anna"), await visit("gina")
    saved = await gina.post("/workflows", {"text": CONCIERGE})
    state = {"state": "on", "base_version": 1}
    refused = await gina.ask("POST", f"/workflows/{saved['id']}/state", state)
    assert (refused.status, refused.json["code"]) == (403, "workflow.needs_admin")
    await anna.post(f"/workflows/{saved['id']}/state", state)
    assert (await gina.get(f"/workflows/{saved['id']}"))["state"] == "on"
    await gina.post(f"/workflows/{saved['id']}/state", {"state": "off", "base_version": 1})


async def test_a_guard_cannot_change_what_is_on_and_moves(house: House, visit: Visitors) -> None:
    anna, gina = await visit("anna"), await visit("gina")
    workflow = await turned_on(anna)
    harmless = YARD_LOG.replace("cameras: yard", "cameras: gate")
    for text in (CONCIERGE.replace("2m", "3m"), harmless):
        refused = await gina.ask("PUT", f"/workflows/{workflow}", {"text": text, "base_version": 1})
        assert (refused.status, refused.json["code"]) == (403, "workflow.needs_admin")
    assert (await anna.ask("PUT", f"/workflows/{workflow}", {"text": harmless, "base_version": 1})).status == 200
    slipped = await gina.ask("PUT", f"/workflows/{workflow}", {"text": CONCIERGE, "base_version": 2})
    assert slipped.json["code"] == "workflow.needs_admin"


async def test_saving_from_an_old_version_shows_the_difference(house: House, visit: Visitors) -> None:
    anna = await visit("anna")
    saved = await anna.post("/workflows", {"text": YARD_LOG})
    newer = YARD_LOG.replace("Somebody", "Someone")
    await anna.post(f"/workflows/{saved['id']}", {"text": newer, "base_version": 1}, method="PUT")
    stale = await anna.ask("PUT", f"/workflows/{saved['id']}", {"text": YARD_LOG, "base_version": 1})
    assert (stale.status, stale.json["code"]) == (409, "conflict")
    assert "Someone in the yard" in stale.json["difference"]
    state = await anna.ask("POST", f"/workflows/{saved['id']}/state", {"state": "on", "base_version": 1})
    assert state.status == 409


async def test_the_text_comes_back_as_it_was_given(house: House, visit: Visitors) -> None:
    anna = await visit("anna")
    text = "# my comment\n" + YARD_LOG + "\n\n"
    saved = await anna.post("/workflows", {"text": text})
    assert (await anna.get(f"/workflows/{saved['id']}"))["text"] == text


async def test_a_file_with_errors_is_refused_with_every_place(house: House, visit: Visitors) -> None:
    anna = await visit("anna")
    refused = await anna.ask("POST", "/workflows", {"text": CONCIERGE.replace("gate: gate", "gate: nowhere")})
    assert (refused.status, refused.json["code"]) == (422, "workflow.invalid")
    assert {problem["code"] for problem in refused.json["problems"]} >= {"scope.unmapped_role"}
    assert refused.json["place"].startswith("line ")


async def test_a_guard_may_not_save_what_reads_a_camera_that_is_not_theirs(house: House, visit: Visitors) -> None:
    olaf = await visit("olaf")
    refused = await olaf.ask("POST", "/workflows", {"text": CONCIERGE})
    assert "scope.camera_not_visible" in {problem["code"] for problem in refused.json["problems"]}


async def test_judging_a_file_says_what_it_would_move(house: House, visit: Visitors) -> None:
    vera = await visit("anna")
    judged = await vera.post("/workflows/validate", {"text": CONCIERGE})
    assert judged["ok"] and judged["needs_admin"]
    assert len(judged["explain"]["moves"]) == 1
    assert "gate" in judged["explain"]["moves"][0]
    broken = await vera.post("/workflows/validate", {"text": "name: ["})
    assert not broken["ok"] and broken["explain"] is None


async def test_trying_on_past_events_moves_nothing_and_asks_nobody(house: House, visit: Visitors) -> None:
    anna = await visit("anna")
    saved = await anna.post("/workflows", {"text": CONCIERGE})
    await anna.post(f"/workflows/{saved['id']}/state", {"state": "off", "base_version": 1})
    for _ in range(3):
        await house.vehicle()
    await house.walker()
    rows = (await anna.post(f"/workflows/{saved['id']}/try", {"last": 20}))["rows"]
    assert [(row["camera"], row["decision"]) for row in rows] == [("gate-cam", "delivery")] * 3
    assert not house.outside.calls
    assert (await anna.get("/approvals"))["approvals"] == []


async def test_a_question_of_a_test_run_is_rehearsed_and_moves_nothing(house: House, visit: Visitors) -> None:
    anna, gina = await visit("anna"), await visit("gina")
    await anna.post("/workflows", {"text": CONCIERGE})
    await house.vehicle()
    (ask,) = (await gina.get("/approvals"))["approvals"]
    assert ask["rehearsal"] is True
    answered = await gina.post(f"/approvals/{ask['id']}/reply", {"reply": "Let in"})
    await house.engine.drain()
    run = await gina.get(f"/runs/{answered['run_id']}")
    assert [step["status"] for step in run["steps"] if step["kind"] == "gate.open"] == ["would_have"]
    assert not house.outside.calls


async def test_a_run_that_waits_can_be_ended_once(house: House, visit: Visitors) -> None:
    anna = await visit("anna")
    await turned_on(anna)
    ask = await asked(house, anna)
    await anna.post(f"/runs/{ask['run_id']}/cancel")
    assert (await anna.get(f"/runs/{ask['run_id']}"))["state"] == "cancelled"
    assert (await anna.ask("POST", f"/runs/{ask['run_id']}/cancel")).status == 409
    assert (await anna.ask("POST", f"/approvals/{ask['id']}/reply", {"reply": "Let in"})).status == 409


async def test_the_site_mode_is_set_by_who_may(house: House, visit: Visitors) -> None:
    gina, vera = await visit("gina"), await visit("vera")
    assert await gina.post("/site/mode", {"mode": "armed_away"}, method="PUT") == {"mode": "armed_away"}
    assert (await vera.ask("PUT", "/site/mode", {"mode": "disarmed"})).status == 403
    assert await vera.get("/site/mode") == {"mode": "armed_away"}
    assert (await gina.ask("PUT", "/site/mode", {"mode": "asleep"})).status == 400


async def test_a_write_sent_twice_with_one_key_is_done_once(house: House, visit: Visitors) -> None:
    anna = await visit("anna")
    body = {"text": YARD_LOG}
    first = await anna.ask("POST", "/workflows", body, Idempotency_Key="k1")
    second = await anna.ask("POST", "/workflows", body, Idempotency_Key="k1")
    assert (second.status, second.json) == (first.status, first.json)
    assert second.headers["Idempotency-Replayed"] == "true"
    assert len((await anna.get("/workflows"))["workflows"]) == 1
    other = await anna.ask("POST", "/workflows", {"text": CONCIERGE}, Idempotency_Key="k1")
    assert (other.status, other.json["code"]) == (422, "idempotency.reused")
    gina = await visit("gina")
    assert (await gina.ask("POST", "/workflows", {"text": CONCIERGE}, Idempotency_Key="k1")).status == 201


async def test_a_refused_write_frees_its_key(house: House, visit: Visitors) -> None:
    anna = await visit("anna")
    assert (await anna.ask("POST", "/workflows", {"text": "name: ["}, Idempotency_Key="k2")).status == 422
    assert (await anna.ask("POST", "/workflows", {"text": YARD_LOG}, Idempotency_Key="k2")).status == 201


@pytest.mark.parametrize("key", ["", "x" * 129, "caf\u00e9"])
async def test_a_key_has_a_length(house: House, visit: Visitors, key: str) -> None:
    anna = await visit("anna")
    assert (await anna.ask("PUT", "/site/mode", {"mode": "disarmed"}, Idempotency_Key=key)).status == 400


async def test_who_did_what_stands_in_the_audit(house: House, visit: Visitors) -> None:
    anna, gina = await visit("anna"), await visit("gina")
    workflow = await turned_on(anna)
    ask = await asked(house, gina)
    await gina.post(f"/approvals/{ask['id']}/reply", {"reply": "Let in"})
    rows = [dict(row) for row in await house.site.store.read(select(audit).order_by(audit.c.id))]
    done = [
        (row["who"], row["what"], row["target"]) for row in rows if row["what"].startswith(("workflow", "approval"))
    ]
    assert done == [
        ("user:anna", "workflow.save", workflow),
        ("user:anna", "workflow.state", workflow),
        ("user:gina", "approval.answer", ask["id"]),
    ]
    assert all(row["from_address"] == "127.0.0.1" for row in rows if row["who"] != "host")
    answered = (await house.site.store.read(select(workflow_approvals.c.answered_by)))[0]
    assert answered["answered_by"] == "user:gina"


async def test_what_a_file_does_is_explained_beside_the_loop(
    house: House, visit: Visitors, monkeypatch: pytest.MonkeyPatch
) -> None:
    explained: list[int] = []

    def explaining(*given: Any) -> Any:
        explained.append(threading.get_ident())
        return explain(*given)

    monkeypatch.setattr(judging, "explain", explaining)
    await (await visit("anna")).post("/workflows/validate", {"text": CONCIERGE})
    assert len(explained) == 1
    assert explained != [threading.get_ident()]
