"""The contract runs alone: PyYAML and voluptuous, the standard library, and nothing else of the project."""

from __future__ import annotations

import subprocess
import sys
from textwrap import dedent

from tests.contract.expected import files

PROGRAM = dedent(
    """
    import importlib.abc, sys

    class OnlyTheContract(importlib.abc.MetaPathFinder):
        allowed = {"yaml", "_yaml", "voluptuous"}
        rooms = ("siteward", "siteward.core", "siteward.core.contract")

        def find_spec(self, name, path=None, target=None):
            head = name.split(".")[0]
            ours = head == "siteward" and not (name in self.rooms or name.startswith("siteward.core.contract."))
            theirs = head != "siteward" and head not in self.allowed and head not in sys.stdlib_module_names
            network = head in {"socket", "ssl", "asyncio", "http", "sqlite3", "multiprocessing", "threading"} and name == head
            if ours or theirs or (network and head not in sys.modules and head != "threading"):
                raise ImportError(f"the contract imported {name}")
            return None

    sys.meta_path.insert(0, OnlyTheContract())
    from siteward.core.contract import explain, to_json_schema, validate, write_back
    from siteward.core.contract.manifest_data import shipped_registry

    registry = shipped_registry()
    report = validate(sys.stdin.buffer.read(), registry)
    assert report.ok, report.problems
    assert explain(report.document, registry).text()
    assert to_json_schema(registry)["$defs"]
    sys.stdout.write(write_back(report.document))
    """
)


def test_the_contract_imports_nothing_but_pyyaml_voluptuous_and_itself() -> None:
    file = files("accepted")[0]
    done = subprocess.run(
        [sys.executable, "-I", "-W", "error", "-c", PROGRAM], input=file.data, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.startswith(b"contract: workflow.v1\n")
