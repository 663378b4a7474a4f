"""`webhook`: one HTTP POST to a named destination, which can tell a retry by its key and a chain by its depth."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

import orjson

from siteward.core.errors import ActionFailed, Unreachable
from siteward.core.plugins.objects import ActionCall, Host

TIMEOUT_SECONDS: Final = 10.0
ANSWER_BYTES: Final = 2048
"""How much of an answer is kept with the step."""

KEY_HEADER: Final = "Idempotency-Key"
CORRELATION_HEADER: Final = "X-Siteward-Correlation-Id"
CHAIN_HEADER: Final = "X-Siteward-Chain"

_LATER: Final = frozenset(
    {
        HTTPStatus.REQUEST_TIMEOUT,
        HTTPStatus.CONFLICT,
        HTTPStatus.TOO_EARLY,
        HTTPStatus.TOO_MANY_REQUESTS,
    }
)
"""Answers below 500 that say "not now": the receiver is busy with this very key, or with others."""


async def send_webhook(call: ActionCall, host: Host) -> Mapping[str, Any]:
    """Send it and return the answer's status and first bytes.

    Raises `ActionFailed` where the receiver refused it for good, `Unreachable` where it did not answer or asked to come back (whether it
    acted is then not known), `EgressRefused` and `UnknownRole` where the site does not let it go.
    """
    name = str(call.arguments["to"])
    body, content_type = _body(call.arguments.get("body"))
    headers = {
        "Content-Type": content_type,
        KEY_HEADER: call.key,
        CORRELATION_HEADER: call.correlation_id,
        CHAIN_HEADER: str(call.chain),
    }
    status, answer = await host.http(
        "POST", host.destination(name), purpose="webhook", body=body, headers=headers, timeout=TIMEOUT_SECONDS
    )
    if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        return {"status": status, "answer": answer[:ANSWER_BYTES].decode("utf-8", "replace")}
    if status in _LATER or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        raise Unreachable(f"The destination {name} answered {status}: it is not ready.", where=name)
    raise ActionFailed(
        f"The destination {name} refused the webhook with {status}: check its address and what it takes.", where=name
    )


def _body(body: Any) -> tuple[bytes, str]:
    """A text as it is, anything else as JSON; nothing as an empty JSON object."""
    if isinstance(body, str):
        return body.encode("utf-8", "replace"), "text/plain; charset=utf-8"
    return orjson.dumps({} if body is None else body, option=orjson.OPT_NON_STR_KEYS), "application/json"
