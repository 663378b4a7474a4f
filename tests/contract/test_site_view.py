"""With a site: mapping, sight, caps, tool policy, what its model sees, and dates that no calendar has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from siteward.core.contract import Problem, apply_edits, validate
from siteward.core.contract.manifest_data import shipped_registry
from siteward.core.contract.registry import SiteView, ToolMode

REGISTRY = shipped_registry()
ROLES: Mapping[str, frozenset[str]] = {
    "camera": frozenset({"gate", "yard"}),
    "person": frozenset({"role:guard"}),
    "gate": frozenset({"main_gate"}),
    "zone": frozenset({"barrier"}),
    "list": frozenset({"expected_visitors"}),
    "destination": frozenset({"desk", "relay"}),
}
SITE = SiteView(roles=ROLES, visible_cameras=frozenset({"gate"}), tells=frozenset({"destination:desk"}))


def workflow(steps: str, when: str = "button: { name: round }", head: str = "") -> str:
    return f"name: Round\n{head}when:\n  {when}\nthen:\n{steps}"


def problems(text: str, site: SiteView | None = SITE) -> list[Problem]:
    return list(validate(text, REGISTRY, site).problems)


def codes(text: str, site: SiteView | None = SITE) -> list[str]:
    return [problem.code for problem in problems(text, site)]


@pytest.mark.parametrize(
    ("when", "code"),
    [
        ("doorbell: { cameras: [gate] }", None),
        ("doorbell: { cameras: [gat] }", "scope.unmapped_role"),
        ("doorbell: { cameras: [yard] }", "scope.camera_not_visible"),
        ("detect.person_in_zone: { cameras: [gate], zone: fence }", "scope.unmapped_role"),
        ("gate.changed: { gate: side_gate }", "scope.unmapped_role"),
    ],
)
def test_roles_are_mapped_and_cameras_are_seen(when: str, code: str | None) -> None:
    assert codes(workflow("  - log: x\n", when)) == ([code] if code else [])
    assert codes(workflow("  - log: x\n", when), None) == []


def test_an_unmapped_role_is_mended_to_the_nearest_mapped_one() -> None:
    text = workflow("  - log: x\n", "doorbell: { cameras: [gat] }")
    (problem,) = problems(text)
    assert "Did you mean `gate`?" in problem.message
    assert problems(apply_edits(text, problem.fixes[0].edits)) == []


@pytest.mark.parametrize("who", ["role:guards", "user:anna", "group:night"])
def test_people_are_mapped(who: str) -> None:
    assert codes(workflow(f"  - notify: {{ who: {who}, message: m }}\n")) == ["scope.unmapped_role"]


def test_limits_over_the_caps_are_refused_and_mended_to_the_cap() -> None:
    site = replace(SITE, caps={"per_hour": 60, "seconds": 30, "tool_calls": 6})
    text = workflow(
        "  - ai:\n      mode: look\n      prompt: x?\n      decision: [a]\n      limits: { seconds: 45, tool_calls: 6 }\n"
        "      a: [ log: a ]\n      unsure: [ log: u ]\n",
        head="limits: { per_hour: 100 }\n",
    )
    found = problems(text, site)
    assert [(p.code, p.path[-1]) for p in found] == [("limit.over_cap", "per_hour"), ("limit.over_cap", "seconds")]
    for problem in found:
        text = apply_edits(text, problem.fixes[0].edits)
    assert problems(text, site) == []
    assert "per_hour: 60" in text
    assert "seconds: 30" in text


def investigate(tool: str) -> str:
    return workflow(
        f"  - ai:\n      mode: investigate\n      goal: g\n      tools: [{tool}]\n      decision: [a]\n"
        "      a: [ log: a ]\n      unsure: [ log: u ]\n"
    )


@pytest.mark.parametrize(
    ("tool", "refused"),
    [
        ("recent_events", False),
        ("{ recent_events: ask }", False),
        ("{ recent_events: unavailable }", False),
        ("{ recent_events: auto }", True),
        ("{ site_lookup: ask }", True),
    ],
)
def test_a_step_may_be_stricter_than_the_site_and_never_looser(tool: str, refused: bool) -> None:
    site = replace(SITE, tool_modes={"recent_events": ToolMode.ASK, "site_lookup": ToolMode.UNAVAILABLE})
    assert codes(investigate(tool), site) == (["ai.loose_tool_mode"] if refused else [])


def test_a_field_that_the_model_cannot_fill_is_a_warning_and_what_the_host_fills_is_none() -> None:
    site = replace(SITE, field_vocabulary=frozenset({"vehicle"}))
    text = workflow(
        "  - ai:\n      mode: look\n      prompt: x?\n      decision: [a]\n"
        '      fields: { vehicle: text, mood: text, said: { from: "{person}" } }\n'
        "      a: [ log: a ]\n      unsure: [ log: u ]\n"
    )
    assert [(p.code, p.path[-1]) for p in problems(text, site)] == [("ai.field_not_seen", "mood")]
    assert problems(text, None) == []


@pytest.mark.parametrize("cron", ["0 0 30 2 *", "0 0 31 4,6,9,11 *"])
def test_dates_that_no_calendar_has_are_refused_where_there_is_a_site(cron: str) -> None:
    text = workflow("  - log: x\n", f'schedule: {{ cron: "{cron}" }}')
    assert codes(text) == ["limit.never_fires"]
    assert codes(text, None) == []


def test_a_destination_that_only_tells_needs_no_admin() -> None:
    def told(to: str) -> list[str]:
        return codes(workflow(f"  - webhook: {{ to: {to}, body: x }}\n", head="if: [ days: [mon] ]\n"))

    assert told("desk") == []
    assert told("relay") == ["scope.admin"]


def test_a_list_that_the_site_does_not_accept_for_the_gate_is_refused() -> None:
    text = workflow(
        "  - ai:\n      mode: look\n      prompt: x?\n      decision: [a]\n      a: [ log: a ]\n      unsure: [ log: u ]\n"
        '  - if: [ in_list: { value: "{plate}", list: expected_visitors } ]\n'
        "    true: [ gate.open: { gate: main_gate } ]\n",
        "event: { type: plate.recognized.v1, cameras: [gate] }",
    )
    allowed = replace(SITE, authority_lists={"gate:main_gate": frozenset({"expected_visitors"})})
    assert "safety.list_not_allowed" not in codes(text, allowed)
    assert "safety.list_not_allowed" in codes(text, SITE)
