"""One integration that is wrong, raises, hangs or claims too much never harms another one, and its record says what to do."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from siteward.core.contract.registry import Moves, Repeat
from siteward.core.errors import ActionFailed
from siteward.core.plugins import discovery, loader
from siteward.core.plugins.discovery import Found, Source, find_custom, find_packages, find_shipped
from siteward.core.plugins.hookspecs import hookimpl
from siteward.core.plugins.manifest import read_manifest
from siteward.core.plugins.objects import Action, ActionCall, GateSettings, Host
from siteward.core.plugins.registry import LoadState
from siteward.core.plugins.requirements import missing_requirements
from tests.integrations.world import HostInMemory, a_call

from .made import ACTS, GOOD, act, acting, found, good, loaded_with, module_with, record_of


def raises(error: BaseException) -> Callable[[], ModuleType]:
    def load_module() -> ModuleType:
        raise error

    return load_module


def hook_that_raises(error: Exception) -> Callable[[], ModuleType]:
    @hookimpl
    def siteward_actions() -> list[Action]:
        raise error

    return lambda: module_with(siteward_actions=siteward_actions)


@hookimpl
def siteward_actons() -> list[Action]:
    return []


@hookimpl
def siteward_triggers(site: object) -> list[object]:
    return []


BAD: dict[str, tuple[Found, LoadState, str]] = {
    "raises on import": (
        found("bad", ACTS, raises(ZeroDivisionError("division by zero"))), LoadState.FAILED,
        "bad failed while it was loaded: ZeroDivisionError: division by zero",
    ),
    "ends the process on import": (found("bad", ACTS, raises(SystemExit(3))), LoadState.FAILED, "SystemExit: 3"),
    "lacks a package": (
        found("bad", ACTS, raises(ModuleNotFoundError("No module named 'onnx'"))), LoadState.NEEDS_ATTENTION,
        "No module named 'onnx'. Install what is missing.",
    ),
    "raises in a hook": (found("bad", ACTS, hook_that_raises(KeyError("port"))), LoadState.FAILED, "KeyError: 'port'"),
    "has a hook that does not exist": (
        found("bad", GOOD, lambda: module_with(siteward_actons=siteward_actons)), LoadState.FAILED, "siteward_actons",
    ),
    "has a hook with other arguments": (
        found("bad", GOOD, lambda: module_with(siteward_triggers=siteward_triggers)), LoadState.FAILED, "site",
    ),
    "registers what it does not declare": (
        found("bad", GOOD, lambda: module_with(siteward_actions=acting("bad"))), LoadState.FAILED,
        "registers something else than bad/manifest.yaml declares: actions: bad.act is registered and not declared",
    ),
    "does not register what it declares": (
        found("bad", ACTS, module_with), LoadState.FAILED, "actions: bad.act is declared and not registered",
    ),
    "moves and says that it does not": (
        found("bad", ACTS, lambda: module_with(siteward_actions=acting("bad", moves=Moves.YES))), LoadState.FAILED,
        "actions: bad.act has moves yes, and its manifest says no",
    ),
    "repeats and says that it does not": (
        found("bad", ACTS, lambda: module_with(siteward_actions=acting("bad", Repeat.KEYED_RETRY))), LoadState.FAILED,
        "actions: bad.act has repeat keyed_retry, and its manifest says once",
    ),
    "opens gates and says that this moves nothing": (
        found(
            "bad", GOOD + "provides:\n  actions:\n    - {{ name: gate.open, skill: true }}\n",
            lambda: module_with(siteward_actions=hookimpl(lambda: [Action("gate.open", Repeat.ONCE, Moves.NO, perform=act)])),
        ), LoadState.FAILED, "actions: gate.open has moves no, and its manifest says yes",
    ),
    "takes a name that is taken": (
        found("bad", ACTS.replace("{0}.act", "log"), module_with), LoadState.FAILED, "`log` is none of bad's names",
    ),
    "needs a later host": (
        found("bad", GOOD + "siteward: '>=99'\n", module_with), LoadState.FAILED, "works with Siteward >=99",
    ),
    "needs a package that is not installed": (
        found("bad", GOOD + "requirements: ['surely-not-there>=2']\n", raises(AssertionError("it was imported"))),
        LoadState.NEEDS_ATTENTION, "install surely-not-there>=2",
    ),
    "needs an integration that is not there": (
        found("bad", GOOD + "dependencies: [elsewhere]\n", raises(AssertionError("it was imported"))),
        LoadState.NEEDS_ATTENTION, "needs elsewhere",
    ),
    "depends on itself": (
        found("bad", GOOD + "dependencies: [bad]\n", module_with), LoadState.NEEDS_ATTENTION, "needs bad",
    ),
    "has a broken manifest": (
        found("bad", GOOD + "icons: x\n", raises(AssertionError("it was imported"))), LoadState.FAILED,
        "bad/manifest.yaml:4:1: `icons` is not known here",
    ),
    "has another domain than its folder": (
        found("bad", GOOD.replace("domain: {0}", "domain: good"), module_with), LoadState.FAILED, "is called bad",
    ),
    "takes a domain that is taken": (found("siteward", GOOD, module_with), LoadState.FAILED, "rename the package one"),
}  # fmt: skip


WHAT_TO_DO = re.compile(
    r"\b([Ii]nstall|get another version|write|give|rename|Take it out|enable one|see there|break the circle|Did you mean|Check)\b"
)


@pytest.mark.parametrize("case", BAD, ids=str)
async def test_a_bad_integration_is_left_out_with_its_reason_and_the_others_load(case: str) -> None:
    bad, state, says = BAD[case]
    loaded = await loaded_with(*find_shipped(), bad, good("last"))
    record = next(one for one in loaded.records if one.source is Source.PACKAGE and one.domain == bad.domain)
    assert record.state is state
    assert says in record.sentence
    assert WHAT_TO_DO.search(record.sentence), record.sentence
    assert record_of(loaded, "last").state is LoadState.LOADED
    assert {"last.act", "log", "gate.open"} <= loaded.actions.keys()
    assert "bad.act" not in loaded.actions


async def test_the_record_has_the_last_line_of_the_traceback_and_its_place() -> None:
    loaded = await loaded_with(found("bad", ACTS, raises(ZeroDivisionError("division by zero"))))
    record = record_of(loaded, "bad")
    assert record.last_line == "ZeroDivisionError: division by zero"
    assert record.where is not None and record.where.startswith(__file__)


async def test_an_import_that_never_returns_holds_up_nobody() -> None:
    never = threading.Event()

    def hang() -> ModuleType:
        never.wait()
        return module_with()

    loaded = await loaded_with(found("bad", ACTS, hang), good("last"), seconds=0.05)
    never.set()
    assert record_of(loaded, "bad").state is LoadState.FAILED
    assert "did not load within 0.05 seconds" in record_of(loaded, "bad").sentence
    assert loaded.actions.keys() == {"last.act"}


async def test_what_works_only_when_configured_is_not_imported_before() -> None:
    place = found("cloud", GOOD + "config_flow: true\n", raises(AssertionError("it was imported")))
    assert record_of(await loaded_with(place), "cloud").state is LoadState.DISCOVERED
    place = found("cloud", GOOD + "config_flow: true\n", module_with)
    assert record_of(await loaded_with(place, configured=("cloud",)), "cloud").state is LoadState.LOADED


async def test_the_shipped_demo_is_only_there_where_it_is_configured() -> None:
    assert "detect.vehicle_in_zone" not in (await loaded_with(*find_shipped())).registry.triggers
    loaded = await loaded_with(*find_shipped(), configured=("demo",))
    assert "detect.vehicle_in_zone" in loaded.registry.triggers


async def test_dependencies_come_first_and_a_circle_is_refused() -> None:
    order: list[str] = []

    def noting(domain: str) -> Callable[[], ModuleType]:
        def load_module() -> ModuleType:
            order.append(domain)
            return module_with()

        return load_module

    loaded = await loaded_with(
        found("late", GOOD + "dependencies: [early]\nafter_dependencies: [middle]\n", noting("late")),
        found("middle", GOOD + "after_dependencies: [late]\n", noting("middle")),
        found("early", GOOD, noting("early")),
        found("one", GOOD + "dependencies: [two]\n", noting("one")),
        found("two", GOOD + "dependencies: [one]\n", noting("two")),
    )
    assert order == ["early", "late", "middle"]
    assert {record_of(loaded, one).state for one in ("one", "two")} == {LoadState.FAILED}
    assert "wait for each other" in record_of(loaded, "one").sentence


async def test_two_integrations_cannot_provide_the_same_skill_that_the_site_cannot_choose_between() -> None:
    siren = "provides:\n  actions:\n    - {{ name: siren, skill: true }}\n"

    def sounds() -> ModuleType:
        hook = hookimpl(lambda: [Action("siren", Repeat.ONCE, Moves.YES, perform=act)])
        return module_with(siteward_actions=hook)

    loaded = await loaded_with(
        *find_shipped(), found("first", GOOD + siren, sounds), found("second", GOOD + siren, sounds)
    )
    assert loaded.registry.actions["siren"].provider == "first"
    assert "siren (actions) is provided by first already" in record_of(loaded, "second").sentence


async def test_a_gate_is_moved_by_the_driver_that_the_site_chose() -> None:
    moved: list[str] = []

    def driving(domain: str) -> Found:
        async def move(call: ActionCall, host: Host) -> Mapping[str, Any]:
            moved.append(domain)
            return {"state": "open"}

        hook = hookimpl(lambda: [Action("gate.open", Repeat.ONCE, Moves.YES, perform=move)])
        text = GOOD + "provides:\n  actions:\n    - {{ name: gate.open, skill: true }}\n"
        return found(domain, text, lambda: module_with(siteward_actions=hook))

    loaded = await loaded_with(*find_shipped(), driving("one"), driving("two"))
    open_gate = loaded.actions["gate.open"].perform
    assert open_gate is not None
    host = HostInMemory()
    host.gates["north"] = GateSettings("north", "two", {})
    host.gates["south"] = GateSettings("south", "three", {})
    assert await open_gate(a_call("gate.open", {"gate": "north"}), host) == {"state": "open"}
    with pytest.raises(ActionFailed, match="The gate south is driven by three, and no loaded integration"):
        await open_gate(a_call("gate.open", {"gate": "south"}), host)
    assert moved == ["two"]


# Where integrations are found


@pytest.fixture
def no_custom_modules() -> Iterator[None]:
    yield
    for name in [one for one in sys.modules if one.startswith("custom_integrations")]:
        del sys.modules[name]


def write_integration(folder: Path, domain: str) -> None:
    folder.mkdir(parents=True)
    (folder / "manifest.yaml").write_text(ACTS.format(domain))
    (folder / "acting.py").write_text(
        "from siteward.sdk import Action, Moves, Repeat\n"
        "async def act(call, host):\n    return {}\n"
        f"ACTIONS = [Action('{domain}.act', Repeat.ONCE, Moves.NO, perform=act)]\n"
    )
    (folder / "__init__.py").write_text(
        "from siteward.sdk import hookimpl\nfrom .acting import ACTIONS\n\n\n@hookimpl\ndef siteward_actions():\n    return ACTIONS\n"
    )


@pytest.mark.usefixtures("no_custom_modules")
async def test_the_sites_own_integrations_are_loaded(tmp_path: Path) -> None:
    write_integration(tmp_path / "custom_integrations" / "bell", "bell")
    (tmp_path / "custom_integrations" / "notes").mkdir()
    loaded = await loaded_with(*find_custom(tmp_path))
    assert [(one.domain, one.source, one.state) for one in loaded.records] == [
        ("bell", Source.CUSTOM, LoadState.LOADED)
    ]
    assert "bell.act" in loaded.actions


def test_a_site_without_own_integrations_has_none(tmp_path: Path) -> None:
    assert find_custom(tmp_path) == ()


async def test_an_installed_package_is_found_by_its_entry_point_and_its_manifest_read_before_its_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_integration(tmp_path / "bell_app", "bell")
    (tmp_path / "bell_app" / "manifest.yaml").write_text(ACTS.format("bell") + "icons: x\n")
    monkeypatch.syspath_prepend(tmp_path)
    point = EntryPoint(name="bell", value="bell_app", group="siteward")
    monkeypatch.setattr(discovery, "entry_points", lambda group: (point,))
    loaded = await loaded_with(*find_packages())
    assert record_of(loaded, "bell").state is LoadState.FAILED
    assert "bell_app" not in sys.modules
    (tmp_path / "bell_app" / "manifest.yaml").write_text(ACTS.format("bell"))
    loaded = await loaded_with(*find_packages())
    assert record_of(loaded, "bell").state is LoadState.LOADED
    for name in [one for one in sys.modules if one.startswith("bell_app")]:
        monkeypatch.delitem(sys.modules, name)


async def test_a_package_without_a_manifest_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "bare_app.py").write_text("")
    point = EntryPoint(name="bare", value="bare_app", group="siteward")
    monkeypatch.setattr(discovery, "entry_points", lambda group: (point,))
    loaded = await loaded_with(*find_packages())
    assert "holds no manifest.yaml beside bare_app" in record_of(loaded, "bare").sentence


def test_a_requirement_is_met_by_what_is_installed() -> None:
    assert missing_requirements(["pluggy>=1", "aiohttp", "pluggy; python_version < '3'"]) == ()
    assert missing_requirements(["pluggy>=99", "nothing-like-it"]) == ("pluggy>=99", "nothing-like-it")


def test_an_extra_is_met_when_everything_that_it_names_is() -> None:
    assert missing_requirements(["siteward"]) == ()
    assert missing_requirements(["siteward[test]"]) == ()


# Setting up and letting go


async def test_manifests_are_read_beside_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    readers: set[int] = set()

    def reading(*given: Any, **more: Any) -> Any:
        readers.add(threading.get_ident())
        return read_manifest(*given, **more)

    monkeypatch.setattr(loader, "read_manifest", reading)
    await loaded_with(good("first"), good("second"))
    assert readers
    assert threading.get_ident() not in readers


async def test_a_folder_without_its_module_says_what_is_missing(tmp_path: Path) -> None:
    folder = tmp_path / "custom_integrations" / "doorlight"
    folder.mkdir(parents=True)
    (folder / "manifest.yaml").write_text(
        "domain: doorlight\nname: Door light\nversion: 0.1.0\ndescription: A light.\niot_class: local_push\n"
    )
    loaded = await loader.load(find_custom(tmp_path), {})
    assert [record.sentence for record in loaded.records] == [
        "custom_integrations/doorlight has no __init__.py; it holds the hooks."
    ]
