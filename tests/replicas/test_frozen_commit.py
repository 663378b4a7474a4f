"""A process that was frozen in the middle of a transaction does not hold up the others for ever."""

from __future__ import annotations

import pytest

from siteward.core.store import postgres
from siteward.core.store.backend import NothingKept
from siteward.core.store.errors import CommitFailed
from siteward.core.store.postgres import Postgres
from siteward.core.store.statements import Op

COUNTED = Op(
    "INSERT INTO counters (scope, name, bucket, count) VALUES ('site', 'x', 'y', 1) "
    "ON CONFLICT (scope, name, bucket) DO UPDATE SET count = counters.count + 1"
)


def test_the_server_undoes_what_a_frozen_process_began(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres, "IDLE_SECONDS", 1)
    backend = Postgres(postgres_url)
    frozen, other = backend.session(), backend.session()
    frozen.begin(in_turn=True)
    frozen.run([COUNTED])
    other.begin(in_turn=True)
    other.run([COUNTED])
    other.commit()
    with pytest.raises((CommitFailed, NothingKept)):
        frozen.commit()
    reader = backend.reader()
    assert reader.fetch("SELECT count FROM counters", {}) == [{"count": 1}]
    for one in (frozen, other, reader):
        one.close()
