"""Confidence: what a table of marked cases makes of a share or a score."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siteward.core.agent import Calibration, Case
from siteward.core.agent.confidence import BANDS, band_of, tally


def test_a_tie_has_no_winner() -> None:
    assert tally(["a", "b"]).winner is None
    assert tally([]).winner is None
    assert tally([None, None]).winner is None


def test_failed_draws_count_against_the_share() -> None:
    assert tally(["a", None, "a", None]).share == 0.5


def test_a_high_score_that_was_often_wrong_is_a_low_confidence() -> None:
    table = Calibration.of([Case("car", 0.9, False)] * 6 + [Case("car", 0.4, True)] * 6)
    high, low = table.precision("car", 0.95), table.precision("car", 0.45)
    assert high is not None
    assert low is not None
    assert high < 0.2 < 0.8 < low


def test_an_option_without_cases_has_no_precision() -> None:
    table = Calibration.of([Case("car", 0.9, True)])
    assert table.precision("bus", 0.9) is None
    assert Calibration().precision("car", 1.0) is None


def test_precision_is_never_a_flat_one() -> None:
    table = Calibration.of([Case("car", 0.9, True)] * 1_000)
    assert 0.99 < (table.precision("car", 0.9) or 0) < 1.0


@given(st.lists(st.tuples(st.sampled_from("ab"), st.none() | st.floats(0, 1), st.booleans())))
def test_a_table_survives_being_stored(cases: list[tuple[str, float | None, bool]]) -> None:
    table = Calibration.of(Case(*case) for case in cases)
    assert Calibration.from_json(json.loads(json.dumps(table.to_json()))) == table
    for option in "ab":
        for raw in (None, 0.0, 0.5, 1.0):
            precision = table.precision(option, raw)
            assert precision is None or 0 < precision < 1


@pytest.mark.parametrize("bands", [[[1, 0]], [[1, 2]] * (len(BANDS) + 1), [[-1, 0]] * (len(BANDS) + 1)])
def test_a_table_that_cannot_be_is_refused(bands: list[list[int]]) -> None:
    with pytest.raises(ValueError):
        Calibration.from_json({"a": bands})


def test_the_bands_cover_everything() -> None:
    assert [band_of(raw) for raw in (0.0, 0.35, 0.5, 0.65, 0.8, 1.0)] == [0, 1, 2, 3, 4, 4]
