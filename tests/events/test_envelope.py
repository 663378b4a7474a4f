"""A message becomes an event only where it says what an event is, and never a more trusted one than its topic carries."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siteward.core.contract.registry import Provenance
from siteward.core.engine.rows import new_event
from siteward.core.events.envelope import MAXIMUM_BYTES, MessageRefused, Origin, event_from_message

SENSOR = Origin("mqtt", Provenance.SENSOR)
WHOLE: dict[str, Any] = {
    "contract": "event.v1",
    "id": "42",
    "type": "plate.recognized.v1",
    "at": "2026-03-02T08:00:00+01:00",
    "source": "lpr-north",
    "camera": "gate",
    "correlation_id": "c-1",
    "chain": 2,
    "caused_by": "w-1",
    "payload": {"plate": "B SW 42", "confidence": 0.9},
}


def said(**changed: Any) -> bytes:
    return orjson.dumps({key: value for key, value in (WHOLE | changed).items() if value is not None})


def test_a_message_says_everything_that_an_event_is() -> None:
    event = event_from_message(said(), SENSOR)
    assert (event.id, event.type, event.source) == ("mqtt:lpr-north:42", "plate.recognized.v1", "mqtt:lpr-north")
    assert (event.camera, event.correlation_id, event.chain, event.caused_by) == ("gate", "c-1", 2, "w-1")
    assert (event.at, event.at.tzinfo) == (datetime(2026, 3, 2, 7, tzinfo=UTC), UTC)
    assert (event.payload, event.provenance) == (WHOLE["payload"], Provenance.SENSOR)


def test_id_type_and_time_are_enough() -> None:
    event = event_from_message(orjson.dumps({"id": "1", "type": "doorbell", "at": "2026-03-02T07:00:00Z"}), SENSOR)
    assert (event.id, event.source, event.camera, event.chain, event.payload) == ("mqtt:1", "mqtt", None, 0, {})


@pytest.mark.parametrize(
    ("carries", "claims", "becomes"),
    [
        (Provenance.SENSOR, "person", Provenance.SENSOR),
        (Provenance.SENSOR, "literal", Provenance.SENSOR),
        (Provenance.SENSOR, "ai", Provenance.AI),
        (Provenance.APP, "sensor", Provenance.APP),
        (Provenance.AI, "sensor", Provenance.AI),
        (Provenance.AI, "list", Provenance.AI),
    ],
)
def test_a_message_is_never_trusted_more_than_its_topic(carries: Provenance, claims: str, becomes: Provenance) -> None:
    assert event_from_message(said(provenance=claims), Origin("mqtt", carries)).provenance is becomes


def test_two_topics_that_a_message_came_by_are_as_good_as_the_worse_one() -> None:
    sensor, app = Origin("mqtt", Provenance.SENSOR, frozenset({"a", "b"})), Origin("mqtt", Provenance.APP)
    assert sensor.narrowed(app) == app.narrowed(sensor) == Origin("mqtt", Provenance.APP, frozenset({"a", "b"}))
    assert sensor.narrowed(Origin("mqtt", Provenance.SENSOR, frozenset({"b", "c"}))).types == frozenset({"b"})


def test_one_publisher_cannot_take_an_id_from_another_one_or_from_the_host() -> None:
    ids = {event_from_message(said(source=source), SENSOR).id for source in (None, "lpr-north", "lpr-south")}
    assert len(ids) == 3
    assert all(one.startswith("mqtt:") for one in ids)


@pytest.mark.parametrize("type", ["schedule", "button", "message"])
def test_what_only_the_host_can_see_does_not_come_by_a_bus(type: str) -> None:
    with pytest.raises(MessageRefused, match="may not come this way") as refused:
        event_from_message(said(type=type), SENSOR)
    assert refused.value.code == "message.type"


def test_a_topic_lets_through_only_its_types() -> None:
    doors = Origin("mqtt", Provenance.SENSOR, frozenset({"doorbell"}))
    assert event_from_message(said(type="doorbell"), doors).type == "doorbell"
    with pytest.raises(MessageRefused, match=r"plate\.recognized\.v1 may not come this way"):
        event_from_message(said(), doors)


DEEP: Any = {"a": 1}
for _ in range(40):
    DEEP = {"a": [DEEP]}


@pytest.mark.parametrize(
    ("message", "code", "why"),
    [
        (b"", "message.not_json", "no JSON"),
        (b"\xff\xfe", "message.not_json", "no JSON"),
        (b"[1]", "message.not_json", "no JSON object"),
        (b"{" + b'"a":[' * 2000, "message.not_json", "no JSON"),
        (said(payload={"text": "x" * MAXIMUM_BYTES}), "message.too_large", "larger than 256 KiB"),
        (said(id=None), "message.invalid", "'id': it is missing"),
        (said(id=""), "message.invalid", "'id': a text of one line"),
        (said(id="x" * 201), "message.invalid", "'id': a text of one line"),
        (said(id=7), "message.invalid", "'id': a text of one line"),
        (said(id="a\nb"), "message.invalid", "'id': a text of one line"),
        (said(camera="gate\u0000"), "message.invalid", "'camera': a text of one line"),
        (said(type=None), "message.invalid", "'type': it is missing"),
        (said(type="No Type"), "message.invalid", "'type': an event type is expected"),
        (said(at=None), "message.invalid", "'at': it is missing"),
        (said(at="2026-03-02T07:00:00"), "message.invalid", "'at': the time has no zone"),
        (said(at="yesterday"), "message.invalid", "'at': a time with its zone"),
        (said(at=1772434800), "message.invalid", "'at': a time with its zone"),
        (said(at="1970-01-01T00:00:00Z"), "message.invalid", "'at': the time lies outside"),
        (said(at="0001-01-01T00:00:00+23:59"), "message.invalid", "'at': the time lies outside"),
        (said(at="9999-12-31T23:59:59-23:59"), "message.invalid", "'at': the time lies outside"),
        (said(chain=-1), "message.invalid", "'chain': a whole number"),
        (said(chain=True), "message.invalid", "'chain': a whole number"),
        (said(chain=1.5), "message.invalid", "'chain': a whole number"),
        (said(provenance="god"), "message.invalid", "'provenance': one of"),
        (said(payload=[1]), "message.invalid", "'payload': an object"),
        (said(payload=DEEP), "message.invalid", "'payload': it nests deeper"),
        (said(contract="event.v2"), "message.invalid", "'contract': this is read as event.v1"),
        (said(pictures="x"), "message.invalid", "'pictures': is not known here"),
    ],
)  # fmt: skip
def test_what_is_no_event_is_refused_with_its_reason(message: bytes, code: str, why: str) -> None:
    with pytest.raises(MessageRefused) as refused:
        event_from_message(message, SENSOR)
    assert (refused.value.code, why in refused.value.sentence) == (code, True), refused.value.sentence
    assert len(refused.value.sentence) < 300


TEXT = st.text("aB.1\0\n\x7f\u2028\u00e9\U0001f600", max_size=6)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=10,
)
KEYS = st.sampled_from([*WHOLE, "provenance", "extra"])


@given(st.dictionaries(KEYS, JSON | st.sampled_from(list(WHOLE.values())), max_size=12))
def test_whatever_comes_is_refused_or_fits_into_the_database(given_: Mapping[str, Any]) -> None:
    try:
        message = orjson.dumps(WHOLE | dict(given_))
    except (TypeError, ValueError):  # what has no JSON cannot come
        return
    _refused_or_kept(message)


@given(st.binary(max_size=200))
def test_no_bytes_break_it(message: bytes) -> None:
    _refused_or_kept(message)


def _refused_or_kept(message: bytes) -> None:
    try:
        event = event_from_message(message, SENSOR)
    except MessageRefused:
        return
    row = new_event(event, 0.0).params
    assert orjson.loads(str(row["payload"])) == event.payload
    assert "\0" not in "".join(str(value) for key, value in row.items() if key != "payload")
