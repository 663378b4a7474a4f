"""The stable problem codes of workflow.v1: `<group>.<name>`, each with what it refuses.

A code never changes its meaning within workflow.v1. `docs/problem-codes.md` is generated from this table, and a test
keeps one refused corpus file at least for each code that a file alone can earn.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

CODES: Final[Mapping[str, str]] = MappingProxyType(
    {
        # 1. shape: the file as text and as a tree
        "shape.encoding": "The bytes are not UTF-8 text (or hold a control character that YAML forbids).",
        "shape.too_large": "Over a size limit: bytes, nesting levels, steps, or what the aliases expand to.",
        "shape.yaml": "The text is not well-formed YAML.",
        "shape.several_documents": "More than one YAML document in the file.",
        "shape.duplicate_key": "The same key stands twice in one mapping.",
        "shape.merge_key": "A YAML merge key (`<<`).",
        "shape.unknown_tag": "A YAML tag that workflow.v1 does not know.",
        "shape.wrong_type": "A value of another type than its place takes (nothing is coerced).",
        "shape.unknown_key": "A key that is not known in this place.",
        "shape.missing_key": "A required key is missing.",
        "shape.bad_value": "A value outside the choices or the range of its place.",
        "shape.bad_duration": "Not a duration such as 90s, 2m or 1h30m.",
        "shape.bad_time": 'Not a time of day such as "22:00".',
        "shape.no_trigger": "`when` names no trigger.",
        "shape.several_triggers": "Two triggers under `when` without `any`.",
        "shape.empty_list": "An empty list of steps or conditions, or an empty lane.",
        "shape.no_kind": "A step without a step kind or action.",
        "shape.two_kinds": "Two step kinds or actions in one step.",
        "shape.duplicate_id": "Two steps carry the same id.",
        "shape.bad_id": "An id that is not a plain name, or that is taken by a name the trigger gives.",
        "shape.bad_placeholder": "Braces that are not a placeholder and not doubled.",
        "shape.unknown_placeholder": "A placeholder that nothing fills at this point.",
        "shape.input_place": "(in a blueprint) An `!input` where the blueprint itself must say what happens.",
        "shape.contract": "A contract version other than workflow.v1.",
        # 2. skill: something nobody provides
        "skill.unknown_trigger": "A trigger that nobody provides.",
        "skill.unknown_step": "A step kind or action that nobody provides.",
        "skill.unknown_tool": "A tool that nobody provides.",
        "skill.unknown_condition": "A condition that nobody provides.",
        # 3. outcome: lanes
        "outcome.missing_lane": "A decision or `unsure` without a lane.",
        "outcome.unknown_lane": "A lane for something that is no outcome of the step.",
        "outcome.duplicate_lane": "The same lane both beside the step's key and inside its mapping.",
        "outcome.duplicate": "The same decision, reply or outcome listed twice.",
        "outcome.reserved_name": "A decision, reply or outcome named unsure, no_answer or as a setting of the step.",
        "outcome.bad_default": "A default that is not one of the replies.",
        # 4. ai: the AI step
        "ai.no_mode": "An AI step without a mode.",
        "ai.unknown_mode": "A mode that nobody provides.",
        "ai.wrong_mode_key": "A key of one mode in a step of the other.",
        "ai.no_tools": "Investigate without a tool.",
        "ai.too_many_tools": "More than five tools.",
        "ai.duplicate_tool": "The same tool twice.",
        "ai.moving_tool": "A tool that moves things; no AI step may have one.",
        "ai.loose_tool_mode": "A tool mode that is looser than the site's.",
        "ai.rule_unknown_field": "A rule reads a field that the step does not report.",
        "ai.rule_bad_value": "A rule expects a value that its field cannot take.",
        "ai.rule_unknown_decision": "A rule leads to a decision that is not listed.",
        "ai.rule_unreachable": "(warning) A rule that an earlier one always pre-empts.",
        "ai.rules_without_fields": "Rules in a step that reports no fields.",
        "ai.fields_without_rules": "(warning) Investigate fields that no rule reads.",
        "ai.placeholder_in_instructions": "A placeholder in `instructions`; data is never part of them.",
        "ai.field_not_seen": "(warning) A field that the site's model cannot fill.",
        # 5. safety: by data flow
        "safety.no_guard": "A move with no AI before it and no plain rule, reply or confirmed call on its path.",
        "safety.ai_unguarded": "A move after AI with neither a person after the last AI step nor an authorising condition.",
        "safety.no_answer_moves": "A move in a no_answer lane or anywhere after nobody answered.",
        "safety.default_moves": "A default reply whose lane moves something.",
        "safety.unconfirmed_call": "A move after a call whose outcome is not confirmed.",
        "safety.always_unguarded": "A move in `always` without a guard inside `always`.",
        "safety.ai_argument": "A move whose target or argument comes from AI and was not shown to whoever authorised it.",
        "safety.ai_recipient": "An ask, call or message whose recipient or replies come from AI.",
        "safety.list_not_allowed": "(with a site) A list that the site does not accept as authority for this target.",
        # 6. severity
        "severity.capped": "(warning) An alert above medium that AI leads to; it is raised as medium until trust is earned.",
        "severity.critical": "A critical alert that AI leads to.",
        # 7. scope
        "scope.admin": "(info) Reads faces or plates, or moves things: only an admin turns it on.",
        "scope.unmapped_role": "(with a site) A role that the site has not mapped.",
        "scope.camera_not_visible": "(with a site) A camera that the saver may not see.",
        "scope.camera_id": "A camera, gate or person by id instead of role.",
        "scope.literal_address": "A literal phone number, address or URL.",
        # 8. limit
        "limit.over_cap": "(with a site) A limit above the site's cap.",
        "limit.never_fires": "A schedule that can never fire.",
        "limit.cooldown_hides": "(warning) A cooldown longer than the trigger's own rhythm.",
    }
)

GROUPS: Final = ("shape", "skill", "outcome", "ai", "safety", "severity", "scope", "limit")
