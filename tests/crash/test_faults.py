"""The matrix is itself tested: each build that breaks a promise on purpose is found, by the check that guards it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.crash.faults import FAULTS
from tests.crash.test_matrix import matrix


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    """All broken builds, in the stories that show what they break."""
    return matrix("faults")


@pytest.mark.parametrize("fault", FAULTS)
def test_the_matrix_finds_a_build_that_breaks_its_promise(fault: str, told: dict[str, Any]) -> None:
    found = told[fault]["found"]
    assert any(FAULTS[fault].finds in sentence for sentence in found), found
