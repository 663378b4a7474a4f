"""Alerts by their run: a line that joins the message of its run finds it without reading every alert."""

from __future__ import annotations

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the index."""
    op.create_index(op.f("ix_alerts_run_id"), "alerts", ["run_id"], unique=False)
