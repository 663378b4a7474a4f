"""Where Alembic enters: runs the migrations on the connection that `migrate` hands over."""

from __future__ import annotations

from alembic import context

from siteward.core.store.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata, render_as_batch=True)
with context.begin_transaction():
    context.run_migrations()
