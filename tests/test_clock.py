"""The machine's clocks: each start of the machine counts in a range of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from siteward.core import clock
from siteward.core.clock import RANGE_SECONDS, SystemClock


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    yield
    clock._range_of_this_boot.cache_clear()


def booted(name: str | None, folder: Path, monkeypatch: pytest.MonkeyPatch) -> float:
    file = folder / "boot_id"
    if name is not None:
        file.write_text(f"{name}\n")
    monkeypatch.setattr(clock, "BOOT_ID", file)
    clock._range_of_this_boot.cache_clear()
    return SystemClock().since_boot()


def test_two_starts_of_the_machine_are_years_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = booted("5cbfe0b6-2f27-4a7b-9e5b-4c1a1f0a3d10", tmp_path, monkeypatch)
    second = booted("0a0f7a62-8a02-4f9b-8a55-64c0d3f0b8f4", tmp_path, monkeypatch)
    assert abs(first - second) > RANGE_SECONDS / 2


def test_within_one_start_seconds_are_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = booted("5cbfe0b6-2f27-4a7b-9e5b-4c1a1f0a3d10", tmp_path, monkeypatch)
    second = booted("5cbfe0b6-2f27-4a7b-9e5b-4c1a1f0a3d10", tmp_path, monkeypatch)
    assert 0 <= second - first < 60


def test_a_system_without_a_name_for_it_counts_from_its_own_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert 0 <= booted(None, tmp_path, monkeypatch) < RANGE_SECONDS
