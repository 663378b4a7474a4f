"""The keys of an `ai` step as a workflow file writes them."""

from __future__ import annotations

from typing import Any

import pytest

from siteward.core.agent import FieldType, Rule, Uncalibrated, spec_of

STEP: dict[str, Any] = {
    "prompt": "Who?",
    "decision": ["open", "wait"],
    "fields": {"vehicle": ["none", "car"], "note": "text", "plate": {"from": "{plate}"}},
    "rules": [{"when": {"vehicle": "car"}, "then": "open"}, {"when": {"vehicle": ["none"]}, "then": "wait"}],
}


def test_a_step_reads_as_it_is_written() -> None:
    made = spec_of(STEP, {"plate": "KA 1"})
    assert made.spec.options == ("open", "wait")
    assert dict(made.spec.fields) == {"vehicle": ("none", "car"), "note": FieldType.TEXT}
    assert made.spec.rules == (Rule("open", {"vehicle": ("car",)}), Rule("wait", {"vehicle": ("none",)}))
    assert (made.spec.floor, made.spec.uncalibrated) == (0.75, Uncalibrated.RUN)
    assert (dict(made.spec.known), dict(made.backstops)) == ({"plate": "KA 1"}, {"plate": "plate"})


def test_a_name_that_is_not_known_fills_a_field_with_nothing() -> None:
    assert spec_of(STEP).spec.known["plate"] is None


def test_a_text_around_the_name_is_kept_and_values_are_not_read_again() -> None:
    step = {"decision": ["a"], "fields": {"f": {"from": "plate {plate} {{x}}"}}}
    assert spec_of(step, {"plate": "{{secret}}", "secret": "no"}).spec.known["f"] == "plate {{secret}} {x}"


@pytest.mark.parametrize(
    "wrong",
    [
        {"decision": "open"},
        {"decision": [1]},
        {"sure": "high"},
        {"sure": True},
        {"sure": 2},
        {"uncalibrated": "maybe"},
        {"fields": {"x": "colour"}},
        {"fields": {"x": {"from": "plate"}}},
        {"fields": {"x": {"from": "{plate}", "to": 1}}},
        {"rules": ["open"]},
        {"rules": [{"when": {"vehicle": "car"}}]},
        {"rules": [{"then": "close"}]},
    ],
)
def test_what_cannot_be_read_is_a_value_error(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        spec_of({**STEP, **wrong})
