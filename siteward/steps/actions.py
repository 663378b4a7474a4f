"""The host's own actions. What is written into the site (alert, notify, log) is a record in the step's transaction; what leaves it
(webhook) or changes it (site_mode) is performed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from siteward.core.clock import Clock
from siteward.core.contract.registry import Moves, Repeat
from siteward.core.errors import ActionFailed
from siteward.core.plugins.objects import Action, ActionCall, Host, Record

from .several import several
from .webhook import send_webhook


def _alert(call: ActionCall, clock: Clock) -> Sequence[Record]:
    said = call.arguments
    values: dict[str, Any] = {
        "severity": said.get("severity", "medium"),
        "title": said["title"],
        "message": said.get("description"),
        "attach": _listed(said.get("attach")),
    }
    return (Record("alert", values | _update(said)),)


def _notify(call: ActionCall, clock: Clock) -> Sequence[Record]:
    said = call.arguments
    values: dict[str, Any] = {
        "who": _listed(said["who"]),
        "severity": said.get("severity", "low"),
        "title": call.workflow,
        "message": said["message"],
        "attach": _listed(said.get("attach")),
    }
    return (Record("notification", values | _update(said)),)


def _log(call: ActionCall, clock: Clock) -> Sequence[Record]:
    return (Record("log", {"message": call.arguments["message"]}),)


def _update(said: Mapping[str, Any]) -> dict[str, Any]:
    """The later AI step whose line joins this message, where the author named one."""
    step = said.get("update_with")
    return {} if step is None else {"update_with": step}


def _listed(value: Any) -> list[Any]:
    return [] if value is None else list(several(value))


async def _site_mode(call: ActionCall, host: Host) -> Mapping[str, Any]:
    """Put the site into a mode and report the mode that was read back."""
    wanted = str(call.arguments["mode"])
    found = await host.set_site_mode(wanted, by=f"workflow:{call.workflow}", key=call.key)
    if found != wanted:
        raise ActionFailed(f"The site is {found} and not {wanted}: the change was not accepted.", where="site_mode")
    return {"mode": found}


def host_actions() -> tuple[Action, ...]:
    """Every action of the host, as its manifest declares them."""
    return (
        Action("alert", Repeat.WITH_STEP, Moves.NO, record=_alert),
        Action("notify", Repeat.WITH_STEP, Moves.NO, record=_notify),
        Action("log", Repeat.WITH_STEP, Moves.NO, record=_log),
        Action("webhook", Repeat.KEYED_RETRY, Moves.UNLESS_APPROVED, perform=send_webhook),
        Action("site_mode", Repeat.ONCE, Moves.YES, perform=_site_mode),
    )
