"""Which statements get slower as a site's past grows: every statement that the tests make run, with SQLite's plan for it.

    python -m benchmarks.query_plans [tests ...]     (tests/engine tests/api by default)

Told are those that go over a whole growing table, or over a whole index of it that is not partial (`tests.store.plans`); the tests' own statements are among
them. A plan says nothing of how often a statement runs: read the list with the code.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import pytest

from siteward.core.store.migrate import migrate
from tests.store.plans import collected, growing


def main() -> None:
    with collected() as texts:
        tests = sys.argv[1:] or ["tests/engine", "tests/api"]
        pytest.main([*tests, "-q", "-k", "not postgresql and not always-suspend", "-p", "no:warnings"])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "site.db"
        migrate(str(file))
        found = growing(file, texts)
    for sql, lines in found.items():
        print(f"\n{sql}\n    " + "\n    ".join(lines))
    print(f"\n{len(texts)} statements, {len(found)} to look at")


if __name__ == "__main__":
    main()
