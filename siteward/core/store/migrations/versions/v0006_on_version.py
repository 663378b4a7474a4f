"""The version of a workflow that is On while a newer one runs in Test beside it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column: no workflow has a version beside the On one yet."""
    op.add_column("workflows", sa.Column("on_version", sa.Integer(), nullable=True))
