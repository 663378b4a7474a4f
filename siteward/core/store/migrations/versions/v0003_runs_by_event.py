"""Runs by their event: a repeat finds its runs, and retention finds events without any, without reading every run."""

from __future__ import annotations

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the index."""
    op.create_index(op.f("ix_workflow_runs_event_id"), "workflow_runs", ["event_id"], unique=False)
