"""The last look before a move: what allows it, on real labels, and for how long."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from siteward.core.contract.registry import ActionSpec, Field, FieldType, Moves, Provenance, Repeat
from siteward.core.engine import authority as rules
from siteward.core.engine.authority import Allowed, Expired, Refused, Verdict, check_move
from siteward.core.engine.seam import Authority, Labelled, Trail
from siteward.core.events.event import Event

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
FRESH = timedelta(seconds=60)
GATE = Field("gate", FieldType.ROLE, required=True, role="gate")
OPEN = ActionSpec("gate.open", "test", Repeat.ONCE, Moves.YES, (GATE,), target="gate")
MAIN_GATE = {"gate": Labelled("main_gate", Provenance.LITERAL)}
EVENT = Event("e", "plate.recognized.v1", "camera", Provenance.SENSOR, NOW - timedelta(seconds=5))
CHAT = replace(EVENT, provenance=Provenance.AI)
REPLY = Authority(
    "reply", "then.0", "Let in", NOW - timedelta(seconds=5), 995.0, by="user:guard", shown=frozenset({"look.gate"})
)
CALL = replace(REPLY, kind="call")
LISTED = Authority("authorising", "then.0", "true", NOW, 1000.0, lists=(frozenset({"expected"}),))
RULE = Authority("rule", "if", "true", NOW, 1000.0)


def verdict(
    trail: Trail,
    *,
    event: Event = EVENT,
    arguments: dict[str, Labelled] = MAIN_GATE,
    now: datetime = NOW,
    boot: float | None = 1000.0,
    allowed_lists: frozenset[str] | None = None,
) -> Verdict:
    return check_move(OPEN, arguments, trail, event, now, boot, FRESH, allowed_lists=allowed_lists)


def code(said: Verdict) -> str:
    assert isinstance(said, Refused), said
    return said.code


def after_ai(*authorities: Authority, overruled: bool = False) -> Trail:
    return Trail(tuple((one, overruled) for one in authorities), ai_before=True)


def test_nothing_before_it_allows_no_move() -> None:
    assert code(verdict(Trail())) == "safety.no_guard"
    assert code(verdict(Trail(ai_before=True))) == "safety.ai_unguarded"


@pytest.mark.parametrize("person", [REPLY, CALL])
def test_a_person_after_the_model_allows_a_move(person: Authority) -> None:
    assert verdict(after_ai(person)) == Allowed(person)


@pytest.mark.parametrize("person", [REPLY, CALL])
def test_a_person_before_the_model_does_not(person: Authority) -> None:
    assert code(verdict(after_ai(person, overruled=True))) == "safety.ai_unguarded"


def test_an_identity_allows_a_move_with_the_model_inside_its_lane() -> None:
    assert verdict(after_ai(LISTED, overruled=True)) == Allowed(LISTED)


def test_a_plain_rule_counts_only_while_no_model_spoke() -> None:
    assert verdict(Trail(((RULE, False),))) == Allowed(RULE)
    assert code(verdict(after_ai(RULE))) == "safety.ai_unguarded"


def test_an_event_of_ai_is_ai_before_whatever_the_trail_says() -> None:
    assert code(verdict(Trail(((RULE, False),)), event=CHAT)) == "safety.ai_unguarded"
    assert code(verdict(Trail(((LISTED, False),)), event=CHAT)) == "safety.ai_unguarded"
    assert verdict(Trail(((REPLY, False),)), event=CHAT) == Allowed(REPLY)


@pytest.mark.parametrize("authority", [REPLY, LISTED, RULE])
def test_no_answer_never_moves_anything(authority: Authority) -> None:
    assert code(verdict(Trail(((authority, False),), unanswered=True))) == "safety.no_answer_moves"


def test_an_authority_of_an_unknown_kind_allows_nothing() -> None:
    unknown = replace(REPLY, kind="model")
    assert code(verdict(after_ai(unknown))) == "safety.ai_unguarded"
    assert code(verdict(Trail(((unknown, False),)))) == "safety.no_guard"


def test_an_ai_value_passes_only_if_the_person_was_shown_it() -> None:
    shown = {"gate": Labelled("goods_gate", Provenance.AI, names=frozenset({"look.gate"}))}
    unseen = {"gate": Labelled("goods_gate", Provenance.AI, names=frozenset({"look.gate", "look.flat"}))}
    assert verdict(after_ai(REPLY), arguments=shown) == Allowed(REPLY)
    assert code(verdict(after_ai(REPLY), arguments=unseen)) == "safety.ai_argument"
    assert code(verdict(after_ai(LISTED), arguments=shown)) == "safety.ai_argument"


def test_an_identity_was_shown_nothing_whatever_it_says() -> None:
    chosen = {"gate": Labelled("goods_gate", Provenance.AI, names=frozenset({"look.gate"}))}
    for claims in (
        replace(LISTED, shown=frozenset({"look.gate"})),
        replace(LISTED, kind="rule", shown=frozenset({"look.gate"})),
    ):
        assert isinstance(verdict(after_ai(claims), arguments=chosen), Refused)
    assert (
        code(verdict(after_ai(replace(LISTED, shown=frozenset({"look.gate"}))), arguments=chosen))
        == "safety.ai_argument"
    )


def test_every_ai_value_in_the_arguments_must_have_been_shown() -> None:
    unseen = Labelled("goods_gate", Provenance.AI, names=frozenset({"look.flat"}))
    seen = Labelled("x", Provenance.AI, names=frozenset({"look.gate"}))
    for arguments in ({"gate": unseen, "note": seen}, {"gate": seen, "note": unseen}):
        assert code(verdict(after_ai(REPLY), arguments=arguments)) == "safety.ai_argument"


def test_a_value_without_a_label_is_ai_s_and_was_shown_to_nobody() -> None:
    assert code(verdict(after_ai(REPLY), arguments={"gate": Labelled("main_gate")})) == "safety.ai_argument"


def test_an_ai_value_in_any_argument_counts() -> None:
    arguments = {**MAIN_GATE, "note": Labelled("x", Provenance.AI, names=frozenset({"look.note"}))}
    assert code(verdict(after_ai(REPLY), arguments=arguments)) == "safety.ai_argument"


def test_the_authority_that_covers_the_move_is_the_one_recorded() -> None:
    shown = {"gate": Labelled("goods_gate", Provenance.AI, names=frozenset({"look.gate"}))}
    inner = replace(REPLY, path="then.1", shown=frozenset())
    assert verdict(after_ai(REPLY, inner), arguments=shown) == Allowed(REPLY)
    assert verdict(after_ai(REPLY, inner)) == Allowed(inner)


def test_a_list_that_the_site_does_not_accept_allows_nothing_after_a_model() -> None:
    assert code(verdict(after_ai(LISTED), allowed_lists=frozenset({"staff"}))) == "safety.list_not_allowed"
    assert verdict(after_ai(LISTED), allowed_lists=frozenset({"staff", "expected"})) == Allowed(LISTED)
    assert verdict(after_ai(LISTED, REPLY), allowed_lists=frozenset()) == Allowed(REPLY)
    written = replace(LISTED, lists=(frozenset[str](),))
    assert verdict(after_ai(written), allowed_lists=frozenset()) == Allowed(written)
    assert verdict(Trail(((LISTED, False),)), allowed_lists=frozenset()) == Allowed(LISTED)


def test_one_way_to_the_identity_by_accepted_lists_is_enough_and_each_list_of_it_must_be_accepted() -> None:
    ways = replace(LISTED, lists=(frozenset({"expected"}), frozenset({"staff", "residents"})))
    assert verdict(after_ai(ways), allowed_lists=frozenset({"expected"})) == Allowed(ways)
    assert verdict(after_ai(ways), allowed_lists=frozenset({"staff", "residents"})) == Allowed(ways)
    assert code(verdict(after_ai(ways), allowed_lists=frozenset({"staff"}))) == "safety.list_not_allowed"


def test_what_moves_nothing_needs_nobody() -> None:
    telling = replace(OPEN, moves=Moves.NO)
    assert check_move(telling, {}, Trail(ai_before=True), CHAT, NOW, None, FRESH) == Allowed(None)


# How long an authority lasts.


def test_a_reply_is_fresh_for_as_long_as_the_site_says_and_no_longer() -> None:
    given = replace(REPLY, at=NOW, boot=1000.0)
    just, late = NOW + FRESH, NOW + FRESH + timedelta(seconds=1)
    assert verdict(after_ai(given), now=just, boot=1060.0) == Allowed(given)
    assert isinstance(verdict(after_ai(given), now=late, boot=1061.0), Expired)


def test_a_reply_from_before_a_power_cut_opens_nothing_an_hour_later() -> None:
    hour = NOW + timedelta(hours=1)
    for before, after in ((1000.0, 40.0), (5.0, 40.0)):
        assert isinstance(verdict(after_ai(replace(REPLY, at=NOW, boot=before)), now=hour, boot=after), Expired)


def test_a_machine_that_lost_its_wall_clock_in_the_cut_opens_nothing_either() -> None:
    given = replace(REPLY, at=NOW, boot=86_400.0)
    assert isinstance(verdict(after_ai(given), now=NOW + timedelta(seconds=2), boot=61.0), Expired)
    # It goes on where it stood, and has been up for ten seconds: an hour may have passed.
    assert isinstance(verdict(after_ai(given), now=NOW + timedelta(seconds=10), boot=10.0), Expired)
    assert isinstance(verdict(after_ai(given), now=datetime(1970, 1, 1, tzinfo=UTC), boot=5.0), Expired)


def test_a_clock_set_back_keeps_no_reply_alive() -> None:
    given = replace(REPLY, at=NOW, boot=1000.0)
    assert isinstance(verdict(after_ai(given), now=NOW, boot=1061.0), Expired)


def test_sleep_counts_although_the_wall_clock_did_not_notice() -> None:
    given = replace(REPLY, at=NOW, boot=1000.0)
    assert isinstance(verdict(after_ai(given), now=NOW + timedelta(seconds=1), boot=5000.0), Expired)


def test_without_a_counter_the_wall_clock_decides() -> None:
    given = replace(REPLY, at=NOW, boot=None)
    assert verdict(after_ai(given), now=NOW + timedelta(seconds=59), boot=None) == Allowed(given)
    assert isinstance(verdict(after_ai(given), now=NOW + timedelta(seconds=61), boot=3.0), Expired)
    counted = replace(REPLY, at=NOW, boot=1000.0)
    assert verdict(after_ai(counted), now=NOW + timedelta(seconds=59), boot=None) == Allowed(counted)


def test_a_move_in_the_instant_of_its_reply_is_fresh() -> None:
    given = replace(REPLY, at=NOW, boot=1000.0)
    assert verdict(after_ai(given), now=NOW, boot=1000.0) == Allowed(given)


def test_what_is_left_of_an_authority_is_its_bound_less_its_age() -> None:
    given = replace(REPLY, at=NOW, boot=1000.0)
    for seconds, left in ((0, 60), (40, 20), (70, -10)):
        now, boot = NOW + timedelta(seconds=seconds), 1000.0 + seconds
        assert rules.time_left(given, EVENT, now, boot, FRESH) == timedelta(seconds=left)


@pytest.mark.parametrize("authority", [LISTED, RULE])
def test_a_rule_is_as_old_as_the_event_that_it_judged(authority: Authority) -> None:
    trail = Trail(((authority, False),))
    old = replace(EVENT, at=NOW - timedelta(seconds=61))
    ahead = replace(EVENT, at=NOW + timedelta(seconds=61))
    assert verdict(trail) == Allowed(authority)
    assert isinstance(verdict(trail, event=old), Expired)
    assert isinstance(verdict(trail, event=ahead), Expired)


def test_a_fresh_person_serves_where_the_identity_has_grown_old() -> None:
    old = replace(EVENT, at=NOW - timedelta(hours=1))
    assert verdict(after_ai(LISTED, REPLY), event=old) == Allowed(REPLY)


# From one trail to the next.


def test_a_run_begins_with_ai_before_it_where_its_trigger_or_event_is_ai_s() -> None:
    assert rules.begin(EVENT, Provenance.SENSOR) == Trail()
    assert rules.begin(EVENT, Provenance.AI).ai_before
    assert rules.begin(CHAT, Provenance.SENSOR).ai_before


def test_a_model_overrules_every_person_who_answered_before_it() -> None:
    trail = rules.ai_spoke(rules.enter(rules.enter(Trail(), LISTED), REPLY))
    assert trail == Trail(((LISTED, True), (REPLY, True)), ai_before=True)


def test_a_rule_on_ai_values_overrules_a_person_who_was_not_shown_them() -> None:
    trail = rules.enter(Trail(ai_before=True), REPLY)
    assert rules.ai_spoke(trail, {"look.gate"}).authorities == ((REPLY, False),)
    assert rules.ai_spoke(trail, {"look.gate", "look.flat"}).authorities == ((REPLY, True),)


def test_an_authority_ends_with_its_lane_and_what_ai_said_in_it_stays() -> None:
    outer = rules.enter(Trail(), REPLY)
    inner = rules.silence(rules.ai_spoke(rules.enter(outer, RULE)))
    assert rules.leave(outer, inner) == Trail(((REPLY, True),), ai_before=True, unanswered=True)


def test_a_reply_ends_an_earlier_silence_in_its_own_lane_only() -> None:
    silent = rules.silence(Trail())
    assert not rules.enter(silent, REPLY).unanswered
    assert rules.enter(silent, LISTED).unanswered
    assert rules.leave(silent, rules.enter(silent, REPLY)).unanswered


def test_no_authority_reaches_always_and_what_ai_said_does() -> None:
    ended = rules.silence(rules.ai_spoke(rules.enter(Trail(), REPLY)))
    assert rules.begin_always(ended) == Trail(ai_before=True)


def test_a_question_is_not_put_to_whom_ai_chose() -> None:
    written, chosen = Labelled("role:guard", Provenance.LITERAL), Labelled("role:friend", Provenance.AI)
    assert rules.may_ask([written]) is None
    refused = rules.may_ask([written, chosen])
    assert refused is not None
    assert refused.code == "safety.ai_recipient"
