"""The workflows that the state machine plays with: one for each thing that a run can do."""

from __future__ import annotations

from typing import Final

from .language import Ask, Await, Branch, Each, Open, Pause, Program, Raise, Say, Tell

LET_IN, SEND_AWAY = "Let in", "Send away"
REPLIES: Final = (LET_IN, SEND_AWAY)

LOGS = Program("Logs", (Say("seen"),))
ASKS = Program(
    "Asks",
    (Ask("A car", ((LET_IN, (Open(), Say("opened"))), (SEND_AWAY, None)), 600, escalate_after=60),),
    (Say("always"),),
)
DEFAULTS = Program(
    "Defaults",
    (Ask("A car", ((LET_IN, (Open(),)), (SEND_AWAY, (Say("sent away"),))), 300, default=SEND_AWAY), Say("after")),
)
LATE = Program(
    "Late",
    (Ask("A car", ((LET_IN, (Pause(300), Open())),), 600, no_answer=(Say("nobody"),)),),
    (Say("always"),),
)
WAITS = Program("Waits", (Pause(60), Say("waited"), Pause(5), Say("again")))
TELLS = Program("Tells", (Tell("before"), Pause(300), Tell("after")))
AWAITS = Program("Awaits", (Await("open", 120, (Say("open"),), (Say("shut"),)),))
RULED = Program("Ruled", (Open(), Say("opened")), (Say("always"),), mode="disarmed")
LOOPS = Program(
    "Loops",
    (
        Each(
            "item",
            ("a", "b"),
            (Say("{item}"), Ask("And {item}?", ((LET_IN, (Say("yes {item}"),)),), 120, no_answer=(Say("no"),))),
        ),
    ),
)
BRANCHES = Program("Branches", (Branch("armed_home", (Pause(30), Tell("armed")), (Say("at home"),)), Say("after")))
RAISES = Program("Raises", (Raise("low", "Look"), Pause(5), Raise("low", "Look")))
ANSWERS_ALERTS = Program("Answers alerts", (Raise("medium", "Look"),), starts_at="low")
ANSWERS_WORSE = Program("Answers worse", (Raise("high", "Look"),), starts_at="medium")

SHAPES: Final = (LOGS, ASKS, DEFAULTS, LATE, WAITS, TELLS, AWAITS, RULED, LOOPS, BRANCHES, RAISES)
ON_ALERTS: Final = (ANSWERS_ALERTS, ANSWERS_WORSE)
