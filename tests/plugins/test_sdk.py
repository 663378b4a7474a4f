"""The SDK is all that an author needs: documented, and light to import."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

import pytest

from siteward import sdk
from siteward.core.contract import registry as contract
from siteward.sdk.agent import Tool

INTEGRATIONS = Path(str(files("siteward"))) / "integrations"


@pytest.mark.parametrize("name", sdk.__all__)
def test_everything_in_the_sdk_says_what_it_is_for(name: str) -> None:
    found = getattr(sdk, name)
    if name in ("hookimpl", "TRIGGERS"):  # a marker of pluggy's, and a table of triggers by name
        return
    assert (found.__doc__ or "").strip(), name


def test_the_sdk_lists_everything_that_it_re_exports() -> None:
    tree = ast.parse(Path(sdk.__file__ or "").read_text())
    imported = {
        alias.asname or alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert imported == set(sdk.__all__)


def test_importing_the_sdk_brings_no_engine_no_store_and_no_server() -> None:
    script = "import sys, siteward.sdk; print('\\n'.join(sys.modules))"
    modules = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    heavy = ("siteward.core.engine", "siteward.core.store", "siteward.core.site", "siteward.core.api")
    assert [one for one in modules if one.startswith((*heavy, "sqlalchemy", "aiohttp", "onnxruntime"))] == []


@pytest.mark.parametrize(
    "path", sorted(INTEGRATIONS.rglob("*.py")), ids=lambda path: str(path.relative_to(INTEGRATIONS))
)
def test_a_shipped_integration_imports_the_sdk_and_nothing_else_of_siteward(path: Path) -> None:
    domain = f"siteward.integrations.{path.relative_to(INTEGRATIONS).parts[0]}"
    for node in ast.walk(ast.parse(path.read_text())):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [node.module or ""]
        for name in names:
            assert not name.startswith("siteward") or name.startswith(("siteward.sdk", domain)), f"{path.name}: {name}"


def test_a_tool_takes_the_effects_and_modes_of_the_sdk_and_a_file_says_them_in_the_same_words() -> None:
    async def handler(arguments: Mapping[str, object]) -> str:
        return ""

    for effect in sdk.Effect:
        for mode in sdk.ToolMode:
            made = Tool("look", "Looks.", {"type": "object"}, handler, mode=mode, effect=effect)
            assert contract.Effect(made.effect).value == effect.value
            assert contract.ToolMode(made.mode).value == mode.value
    assert (len(contract.Effect), len(contract.ToolMode)) == (len(sdk.Effect), len(sdk.ToolMode))
