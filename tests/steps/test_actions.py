"""The host's own actions: what they leave on the site, and what they send out of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from siteward.core.errors import ActionFailed, EgressRefused, SitewardError, UnknownRole, Unreachable
from siteward.core.plugins.objects import Action, ActionCall, Record
from siteward.steps import host_actions
from siteward.steps.webhook import ANSWER_BYTES
from tests.steps.world import StillClock, event

ACTIONS: dict[str, Action] = {action.name: action for action in host_actions()}


def call(action: str, **arguments: Any) -> ActionCall:
    return ActionCall(action, arguments, "key-1", "run-1", "Gate concierge", "then.0", "corr-1", 2, event())


def records(action: str, **arguments: Any) -> tuple[Record, ...]:
    record = ACTIONS[action].record
    assert record is not None
    return tuple(record(call(action, **arguments), StillClock()))


@dataclass
class Outside:
    """The host as an action uses it, with a receiver behind it."""

    status: int = 200
    answer: bytes = b"ok"
    refuses: SitewardError | None = None
    mode_after: str | None = None
    sent: list[dict[str, Any]] = field(default_factory=list)

    def destination(self, role: str) -> str:
        if role != "ticketing":
            raise UnknownRole(f"There is no destination {role}.")
        return "https://ticketing.example/hook"

    async def http(
        self,
        method: str,
        url: str,
        *,
        purpose: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = 10.0,
    ) -> tuple[int, bytes]:
        if self.refuses is not None:
            raise self.refuses
        self.sent.append({"method": method, "url": url, "purpose": purpose, "body": body, "headers": headers})
        return self.status, self.answer

    async def set_site_mode(self, mode: str, *, by: str, key: str) -> str:
        self.sent.append({"mode": mode, "by": by, "key": key})
        return self.mode_after or mode


async def perform(action: str, outside: Outside, **arguments: Any) -> Mapping[str, Any]:
    act = ACTIONS[action].perform
    assert act is not None
    result: Mapping[str, Any] = await act(call(action, **arguments), outside)  # type: ignore[arg-type]
    return result


def test_an_alert_is_a_row_of_the_inbox() -> None:
    assert records("alert", severity="high", title="Intruder", description="Yard", attach=["picture"]) == (
        Record("alert", {"severity": "high", "title": "Intruder", "message": "Yard", "attach": ["picture"]}),
    )


def test_an_alert_without_words_is_a_medium_one() -> None:
    assert records("alert", title="Intruder") == (
        Record("alert", {"severity": "medium", "title": "Intruder", "message": None, "attach": []}),
    )


def test_a_notice_goes_to_whom_it_names() -> None:
    (record,) = records("notify", who="role:guard", severity="low", message="A van came")
    assert record == Record(
        "notification",
        {"who": ["role:guard"], "severity": "low", "title": "Gate concierge", "message": "A van came", "attach": []},
    )


@pytest.mark.parametrize(
    ("action", "said"), [("alert", {"title": "x"}), ("notify", {"who": "role:guard", "message": "x"})]
)
def test_a_message_may_wait_for_the_models_line(action: str, said: dict[str, Any]) -> None:
    assert records(action, update_with="look", **said)[0].values["update_with"] == "look"
    assert "update_with" not in records(action, **said)[0].values


def test_a_log_line_is_the_runs() -> None:
    assert records("log", message="A van") == (Record("log", {"message": "A van"}),)


def test_records_touch_nothing_outside() -> None:
    assert [name for name, action in ACTIONS.items() if action.perform is None] == ["alert", "notify", "log"]


async def test_a_webhook_can_be_told_apart_and_followed() -> None:
    outside = Outside()
    assert await perform("webhook", outside, to="ticketing", body={"plate": "B-AB 123"}) == {
        "status": 200,
        "answer": "ok",
    }
    (sent,) = outside.sent
    assert (sent["method"], sent["url"]) == ("POST", "https://ticketing.example/hook")
    assert sent["body"] == b'{"plate":"B-AB 123"}'
    assert sent["headers"] == {
        "Content-Type": "application/json",
        "Idempotency-Key": "key-1",
        "X-Siteward-Correlation-Id": "corr-1",
        "X-Siteward-Chain": "2",
    }


@pytest.mark.parametrize(
    ("body", "sent", "kind"),
    [
        ("Gate: é", "Gate: é".encode(), "text/plain"),
        (None, b"{}", "application/json"),
        ([1], b"[1]", "application/json"),
    ],
)
async def test_a_text_is_sent_as_text_and_the_rest_as_json(body: Any, sent: bytes, kind: str) -> None:
    outside = Outside()
    await perform("webhook", outside, to="ticketing", body=body)
    assert outside.sent[0]["body"] == sent
    assert outside.sent[0]["headers"]["Content-Type"].startswith(kind)


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503])
async def test_a_receiver_that_is_not_ready_is_asked_again(status: int) -> None:
    with pytest.raises(Unreachable, match=str(status)):
        await perform("webhook", Outside(status=status), to="ticketing")


@pytest.mark.parametrize("status", [301, 400, 401, 404, 410, 422])
async def test_a_receiver_that_refuses_is_not_asked_again(status: int) -> None:
    with pytest.raises(ActionFailed, match=str(status)):
        await perform("webhook", Outside(status=status), to="ticketing")


@pytest.mark.parametrize("refused", [EgressRefused("no"), Unreachable("down")])
async def test_what_the_site_or_the_network_refuses_is_said(refused: SitewardError) -> None:
    with pytest.raises(type(refused)):
        await perform("webhook", Outside(refuses=refused), to="ticketing")


async def test_a_destination_that_the_site_does_not_know_is_said() -> None:
    outside = Outside()
    with pytest.raises(UnknownRole):
        await perform("webhook", outside, to="somewhere")
    assert outside.sent == []


async def test_a_long_answer_is_kept_in_part() -> None:
    found = await perform("webhook", Outside(answer=b"\xff" * 100_000), to="ticketing")
    assert len(found["answer"]) == ANSWER_BYTES


async def test_site_mode_reports_what_was_read_back() -> None:
    outside = Outside()
    assert await perform("site_mode", outside, mode="armed_home") == {"mode": "armed_home"}
    assert outside.sent == [{"mode": "armed_home", "by": "workflow:Gate concierge", "key": "key-1"}]


async def test_a_mode_that_did_not_change_is_a_failure() -> None:
    with pytest.raises(ActionFailed, match="disarmed and not armed_home"):
        await perform("site_mode", Outside(mode_after="disarmed"), mode="armed_home")
