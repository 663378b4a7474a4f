"""The tables. Times are UTC seconds since 1970 as REAL (one comparison for due-time rows on SQLite and PostgreSQL alike);
JSON columns hold plain JSON text; ids are ULID-like texts that sort by time.

Who writes: engine rows (events, runs, steps, waits, intents, outbox, alerts, approvals, counters) go through the group-commit writer
only. Every transition is one conditional UPDATE checked by its row count.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    literal_column,
    text,
)

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _id(name: str = "id") -> Column[str]:
    return Column(name, Text, primary_key=True)


# -- workflows ---------------------------------------------------------------------------------------------------------
workflows = Table(
    "workflows",
    metadata,
    _id(),
    Column("name", Text, nullable=False),
    Column("state", Text, nullable=False),  # off | test | on
    Column("version", Integer, nullable=False),  # the newest version's number
    Column("on_version", Integer),  # the version that is On while the newest runs in Test beside it, or NULL
    Column("attention", Text),  # JSON: why it needs attention, or NULL
    Column("source", Text, nullable=False, server_default="site"),  # site | blueprint:<path> | file
    Column("created_at", Float, nullable=False),
    Column("changed_at", Float, nullable=False),
)
workflow_versions = Table(
    "workflow_versions",
    metadata,
    Column("workflow_id", Text, ForeignKey("workflows.id"), primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("text", Text, nullable=False),  # the file as given, never re-dumped
    Column("sha256", Text, nullable=False),
    Column("by", Text, nullable=False),
    Column("at", Float, nullable=False),
    Column("blueprint", Text),  # JSON {path, sha256, input} where it was made from one
)

# -- events and runs ---------------------------------------------------------------------------------------------------
events = Table(
    "events",
    metadata,
    _id(),
    Column("type", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("provenance", Text, nullable=False),
    Column("camera", Text),
    Column("at", Float, nullable=False),
    Column("accepted_at", Float, nullable=False),
    Column("correlation_id", Text, nullable=False),
    Column("chain", Integer, nullable=False, server_default="0"),
    Column("caused_by", Text),
    Column("payload", Text, nullable=False),
    Column("picture", Text),
    Column("matched", Integer),  # NULL: accepted, not yet matched (a restart matches it); else how many runs it made
    Index(None, "type", "at"),
    Index(None, "camera", "at"),
    Index(
        "ix_events_unmatched",
        "accepted_at",
        sqlite_where=text("matched IS NULL"),
        postgresql_where=text("matched IS NULL"),
    ),
)
workflow_runs = Table(
    "workflow_runs",
    metadata,
    _id(),
    Column("workflow_id", Text, ForeignKey("workflows.id"), nullable=False),
    Column("version", Integer, nullable=False),
    Column("mode", Text, nullable=False),  # on | test | try | replay
    Column("state", Text, nullable=False),  # running waiting done not_met failed unknown cancelled expired
    Column("state_reason", Text),
    Column("event_id", Text, ForeignKey("events.id"), nullable=False),
    Column("correlation_id", Text, nullable=False),
    Column("chain", Integer, nullable=False),
    Column("one_key", Text),  # the one-at-a-time key while the run is alive; NULL in try and replay
    Column("seen_again", Integer, nullable=False, server_default="0"),
    Column("newest_picture", Text),
    Column(
        "position", Text, nullable=False
    ),  # JSON: where the run stands (stack of lanes) and the labelled values so far
    Column("started_at", Float, nullable=False),
    Column("ended_at", Float),
    Column("lease_owner", Text),
    Column("lease_until", Float),
    Column("fence", Integer, nullable=False, server_default="0"),
    Column("mark", Text),  # right | wrong
    Column("revisions", Text, nullable=False, server_default="{}"),  # JSON: facts, policy, model digest
    Index(None, "workflow_id", "started_at"),
    Index(None, "state"),
    Index(None, "event_id"),
    Index(
        "uq_runs_one_at_a_time",
        "workflow_id",
        "one_key",
        unique=True,
        sqlite_where=text("one_key IS NOT NULL AND state IN ('running','waiting')"),
        postgresql_where=text("one_key IS NOT NULL AND state IN ('running','waiting')"),
    ),
    Index(
        "uq_runs_event",
        "workflow_id",
        "event_id",
        "mode",
        unique=True,
        sqlite_where=text("mode IN ('on','test')"),
        postgresql_where=text("mode IN ('on','test')"),
    ),
)
workflow_run_steps = Table(
    "workflow_run_steps",
    metadata,
    Column("run_id", Text, ForeignKey("workflow_runs.id"), primary_key=True),
    Column("path", Text, primary_key=True),  # then.0/alert.1, iterations as then.2/do[3].0
    Column("seq", Integer, nullable=False),
    Column("kind", Text, nullable=False),
    Column("name", Text),
    Column("status", Text, nullable=False),  # intent waiting done failed refused expired unknown would_have skipped
    Column("outcome", Text),
    Column("inputs", Text, nullable=False),  # JSON: resolved settings with provenance labels
    Column("result", Text),  # JSON
    Column("key", Text),  # idempotency key
    Column("attempts", Integer, nullable=False, server_default="0"),
    Column("started_at", Float, nullable=False),
    Column("ended_at", Float),
    # an AI step's own columns
    Column("reason", Text),
    Column("confidence", Float),
    Column("confidence_source", Text),
    Column("self_reported", Float),
    Column("unsure_reason", Text),
    Column("rule", Integer),
    Column("model", Text),
    Column("usage", Text),
    Column("suspended", Text),
)
workflow_tool_calls = Table(
    "workflow_tool_calls",
    metadata,
    _id(),
    Column("run_id", Text, nullable=False),
    Column("path", Text, nullable=False),
    Column("seq", Integer, nullable=False),
    Column("row", Text, nullable=False),  # JSON: the TraceRow
    Index(None, "run_id", "path"),
)
waits = Table(
    "waits",
    metadata,
    _id(),
    Column("run_id", Text),
    Column("path", Text),
    Column("kind", Text, nullable=False),  # ask wait wait_for schedule retry escalate
    Column("due_at", Float),
    Column("state", Text, nullable=False),  # open | taken | cancelled
    Column("payload", Text, nullable=False),
    Column("event_type", Text),  # wait_for: what it listens to
    Index("ix_waits_due", "due_at", sqlite_where=text("state = 'open'"), postgresql_where=text("state = 'open'")),
    Index(None, "run_id"),
)
OPEN_WAIT = waits.c.state == literal_column("'open'")
"""An open wait, in the words of the index: a partial index serves a query by its text, and not by a bound value."""
workflow_approvals = Table(
    "workflow_approvals",
    metadata,
    _id(),
    Column("run_id", Text, nullable=False),
    Column("path", Text, nullable=False),
    Column("workflow_id", Text, nullable=False),
    Column("camera", Text),
    Column("who", Text, nullable=False),  # JSON list of role:x, user:x, group:x (grows by escalation)
    Column("message", Text, nullable=False),
    Column("replies", Text, nullable=False),  # JSON: [{reply, moves: [what it would move]}]
    Column("default", Text),
    Column("picture", Text),
    Column("shown", Text, nullable=False),  # JSON: the labelled values that the question showed
    Column("rehearsal", Boolean, nullable=False, server_default="0"),
    Column("state", Text, nullable=False),  # open | answered | no_answer | cancelled
    Column("asked_at", Float, nullable=False),
    Column("due_at", Float),
    Column("reply", Text),
    Column("answered_by", Text),
    Column("answered_at", Float),
    Column("answered_boot", Float),
    Column("note", Text),
    Index(None, "state", "due_at"),
    Index(None, "run_id"),
)

# -- what runs leave ---------------------------------------------------------------------------------------------------
alerts = Table(
    "alerts",
    metadata,
    _id(),
    Column("kind", Text, nullable=False),  # alert | notification | engine
    Column("run_id", Text),
    Column("path", Text),
    Column("workflow_id", Text),
    Column("camera", Text),
    Column("who", Text),
    Column("severity", Text, nullable=False),
    Column("asked_severity", Text),
    Column("clamped_why", Text),
    Column("title", Text, nullable=False),
    Column("message", Text),
    Column("attach", Text, nullable=False, server_default="[]"),
    Column("correlation_id", Text, nullable=False),
    Column("chain", Integer, nullable=False, server_default="0"),
    Column("at", Float, nullable=False),
    Column("acknowledged_by", Text),
    Column("acknowledged_at", Float),
    Index(None, "at"),
    Index(None, "run_id"),
)
logs = Table(
    "logs",
    metadata,
    _id(),
    Column("run_id", Text),
    Column("path", Text),
    Column("message", Text, nullable=False),
    Column("at", Float, nullable=False),
)
outbox = Table(
    "outbox",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column(
        "topic", Text, nullable=False
    ),  # run.started run.step run.ended approval.opened approval.closed alert.raised gate.changed …
    Column("payload", Text, nullable=False),
    Column("camera", Text),
    Column("at", Float, nullable=False),
    sqlite_autoincrement=True,
)
counters = Table(
    "counters",
    metadata,
    Column("scope", Text, primary_key=True),  # workflow id or "site"
    Column("name", Text, primary_key=True),  # runs_per_hour ai_per_hour refused.cooldown …
    Column("bucket", Text, primary_key=True),  # the hour, or the cooldown key
    Column("count", Integer, nullable=False),
    Column("until", Float),
    Column("sample", Text),
)

# -- several processes on one database ------------------------------------------------------------------------------------
engines = Table(
    "engines",
    metadata,
    _id(),
    Column("name", Text, nullable=False),
    Column("drives", Boolean, nullable=False),  # false: accepts and answers, and leaves the rest to the others
    Column("started_at", Float, nullable=False),  # this and the next by the database's own clock
    Column("beat_at", Float, nullable=False),  # who has not beaten for 15 s has lost its runs
    Index(None, "name", unique=True),
)
leases = Table(
    "leases",
    metadata,
    _id("name"),  # upkeep, entry:<domain>
    Column("owner", Text, nullable=False),  # an engine's id
)

# -- the site ----------------------------------------------------------------------------------------------------------
site_settings = Table(
    "site_settings",
    metadata,
    _id("name"),
    Column("value", Text, nullable=False),
    Column("revision", Integer, nullable=False),
)
site_rules = Table(
    "site_rules",
    metadata,
    Column("revision", Integer, primary_key=True),
    Column("facts", Text, nullable=False),
    Column("by", Text, nullable=False),
    Column("at", Float, nullable=False),
)
site_lists = Table(
    "site_lists",
    metadata,
    _id("name"),
    Column("columns", Text, nullable=False),
    Column("match_column", Text, nullable=False),
    Column("revision", Integer, nullable=False),
)
site_list_rows = Table(
    "site_list_rows",
    metadata,
    _id(),
    Column("list", Text, ForeignKey("site_lists.name"), nullable=False),
    Column("match", Text, nullable=False),
    Column("values", Text, nullable=False),
    Column("by", Text, nullable=False),
    Column("origin", Text, nullable=False),  # person | import | feed | ai
    Column("confirmed_by", Text),
    Column("expires_at", Float),
    Column("at", Float, nullable=False),
    Index(None, "list", "match"),
)
roles = Table(
    "roles",
    metadata,
    Column("kind", Text, primary_key=True),  # camera gate siren list zone line destination person entity
    Column("role", Text, primary_key=True),
    Column("target", Text, primary_key=True),
    Column("settings", Text, nullable=False, server_default="{}"),
)
destinations = Table(
    "destinations",
    metadata,
    _id("name"),
    Column("url_prefix", Text, nullable=False),
    Column("purpose", Text, nullable=False),
    Column("data_classes", Text, nullable=False),
    Column("tells", Boolean, nullable=False, server_default="0"),
    Column("by", Text, nullable=False),
    Column("at", Float, nullable=False),
)
users = Table(
    "users",
    metadata,
    _id(),
    Column("name", Text, nullable=False, unique=True),
    Column("role", Text, nullable=False),  # admin operator viewer
    Column("password", Text),
    Column("disabled", Boolean, nullable=False, server_default="0"),
    Column("created_at", Float, nullable=False),
)
groups = Table(
    "groups",
    metadata,
    Column("group", Text, primary_key=True),
    Column("user_id", Text, ForeignKey("users.id"), primary_key=True),
)
user_cameras = Table(
    "user_cameras",
    metadata,
    Column("user_id", Text, ForeignKey("users.id"), primary_key=True),
    Column("camera", Text, primary_key=True),
)
sessions = Table(
    "sessions",
    metadata,
    _id("token_hash"),
    Column("user_id", Text, ForeignKey("users.id"), nullable=False),
    Column("csrf", Text, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("expires_at", Float, nullable=False),
    Column("from_address", Text),
)
idempotency_keys = Table(
    "idempotency_keys",
    metadata,
    Column("user_id", Text, ForeignKey("users.id"), primary_key=True),
    Column("key", Text, primary_key=True),
    Column("digest", Text, nullable=False),  # of method, path and body
    Column("status", Integer),  # NULL while the first request is under way
    Column("answer", Text),
    Column("at", Float, nullable=False),
)
audit = Table(
    "audit",
    metadata,
    _id(),
    Column("at", Float, nullable=False),
    Column("who", Text, nullable=False),
    Column("from_address", Text),
    Column("what", Text, nullable=False),
    Column("target", Text),
    Column("before", Text),
    Column("after", Text),
    Index(None, "at"),
)
media = Table(
    "media",
    metadata,
    _id(),
    Column("camera", Text),
    Column("content_type", Text, nullable=False),
    Column("at", Float, nullable=False),
    Column("data", LargeBinary, nullable=False),
)
integrations = Table(
    "integrations",
    metadata,
    _id("domain"),
    Column("enabled", Boolean, nullable=False),
    Column("settings", Text, nullable=False, server_default="{}"),
)
