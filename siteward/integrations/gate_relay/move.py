"""One move of a gate: read, send once, read back, and say only what is known.

Nothing is ever sent twice, and nothing after `send_by`. `ActionFailed` means that it is known that nothing moved: nothing was sent, or the relay refused.
`OutcomeUnknown` means that a command may have been carried out. A lost answer is settled where the relay tells the key of its last command.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from siteward.sdk import (
    ActionCall,
    ActionFailed,
    ConfigurationInvalid,
    EgressRefused,
    Event,
    Host,
    OutcomeUnknown,
    Provenance,
    SitewardError,
    TooLate,
    Unreachable,
)

from .relay import CLOSED, OPEN, Answer, Reading, Relay, command, read, relay_of

POLL_SECONDS: Final = 0.5

_LOG = logging.getLogger(__name__)
_DOING: Final = {OPEN: "open", CLOSED: "close"}


async def open_gate(call: ActionCall, host: Host) -> Mapping[str, Any]:
    """Open a gate. Returns `state` as read back, `before`, and `dry_run`. Raises `ActionFailed`, `OutcomeUnknown`, `UnknownRole`."""
    return await _move(call, host, OPEN)


async def close_gate(call: ActionCall, host: Host) -> Mapping[str, Any]:
    """Close a gate; as `open_gate`."""
    return await _move(call, host, CLOSED)


async def _move(call: ActionCall, host: Host, wanted: str) -> Mapping[str, Any]:
    gate = host.gate(str(call.arguments["gate"]))
    try:
        relay = relay_of(gate)
    except ConfigurationInvalid as error:
        raise ActionFailed(error.sentence, where=gate.role) from error
    before = await _before(relay, host)
    if relay.dry_run:
        return {"dry_run": True, "before": before.state, "state": before.state}
    await _send(relay, call, host, wanted)
    after = await _settled(relay, host, wanted)
    if after.state != before.state:
        await _tell(call, host, relay.gate, wanted)
    return {"dry_run": False, "before": before.state, "state": after.state}


async def _before(relay: Relay, host: Host) -> Reading:
    """A relay that cannot be asked is not sent anything, so that it is known that nothing moved."""
    try:
        return await read(relay, host)
    except (Unreachable, EgressRefused) as error:
        raise ActionFailed(f"Nothing was sent to the gate {relay.gate}: {error.sentence}", where=relay.gate) from error


async def _send(relay: Relay, call: ActionCall, host: Host, wanted: str) -> None:
    """Send the command once. Returns where the relay took it, or is known to have carried it out."""
    if call.send_by is not None and host.clock.since_boot() > call.send_by:
        raise TooLate(
            f"Nothing was sent to the gate {relay.gate}: what allowed it ran out before its relay had told its state.",
            where=relay.gate,
        )
    url = relay.open_url if wanted == OPEN else relay.close_url
    headers = {"X-Siteward-Correlation-Id": call.correlation_id, "X-Siteward-Chain": str(call.chain)}
    try:
        answer = await command(relay, url, call.key, headers, host)
    except EgressRefused as error:
        raise ActionFailed(f"Nothing was sent to the gate {relay.gate}: {error.sentence}", where=relay.gate) from error
    except Unreachable as error:
        await _settle_lost(relay, call.key, host, error)
        return
    if answer.refused:
        raise ActionFailed(_refusal(relay, wanted, answer), where=relay.gate)
    if not answer.taken:
        await _settle_lost(relay, call.key, host, None)


def _refusal(relay: Relay, wanted: str, answer: Answer) -> str:
    why = answer.sentence or f"it answered {answer.status}"
    return f"The relay refused to {_DOING[wanted]} the gate {relay.gate}: {why}"


async def _settle_lost(relay: Relay, key: str, host: Host, lost: Unreachable | None) -> None:
    """The answer was lost or said nothing. A relay that names this command as its last one carried it out; all else stays unknown."""
    try:
        if (await read(relay, host)).key == key:
            return
    except (Unreachable, EgressRefused) as error:
        raise _unknown(relay, "its relay does not answer any more") from error
    raise _unknown(relay, "its relay gave no answer to the command") from lost


async def _settled(relay: Relay, host: Host, wanted: str) -> Reading:
    """Read back until the gate is where it should be. Raises `OutcomeUnknown` where it is not seen to get there."""
    until = host.clock.now() + timedelta(seconds=relay.settle_seconds)
    seen = "nothing"
    while True:
        try:
            reading = await read(relay, host)
        except (Unreachable, EgressRefused) as error:
            raise _unknown(relay, "it took the command, and its relay does not answer any more") from error
        if reading.state == wanted:
            return reading
        seen = reading.state
        now = host.clock.now()
        if now >= until:
            break
        await host.clock.sleep_until(min(until, now + timedelta(seconds=POLL_SECONDS)))
    raise _unknown(
        relay, f"it took the command, and after {relay.settle_seconds:g} seconds the gate still reads {seen}"
    )


def _unknown(relay: Relay, why: str) -> OutcomeUnknown:
    return OutcomeUnknown(
        f"What the gate {relay.gate} did is not known: {why}. Look at the gate before you try again.", where=relay.gate
    )


async def _tell(call: ActionCall, host: Host, gate: str, state: str) -> None:
    """Say that the gate changed. The move is done and known: an event that cannot be taken is no reason to call it unknown."""
    event = Event(
        id=f"{call.key}:changed",
        type="gate.changed",
        source="gate_relay",
        provenance=Provenance.SENSOR,
        at=host.clock.now(),
        correlation_id=call.correlation_id,
        chain=call.chain,
        caused_by=call.workflow_id,
        payload={"gate": gate, "to": state},
    )
    try:
        await host.emit(event)
    except SitewardError as error:
        _LOG.warning("gate.changed of %s was not taken: %s", gate, error.sentence)
