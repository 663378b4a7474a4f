"""What the pages state about the repository is so: its files, its rooms, its dependencies, its figures."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from configparser import ConfigParser
from importlib.resources import files
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from siteward.core.evaluation import Case, CaseSet, load_cases, shipped_cases
from siteward.core.evaluation.statistics import majority, share_of

from .pages import PAGES, ROOT, blocks

TREES = ("siteward", "tests", "docs", "script", "benchmarks")
_PATH = re.compile(rf"`((?:{'|'.join(TREES)})/[\w./*-]*)`")
_LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
PACKAGE = Path(str(files("siteward")))


def cells(text: str) -> Iterator[list[str]]:
    """The cells of each row of the tables in a page, emphasis taken off."""
    for line in text.splitlines():
        if line.startswith("|"):
            yield [cell.strip(" *") for cell in line.strip("|").split("|")]


def rows_under(page: Path, first: str) -> list[list[str]]:
    """The rows of the table whose head begins with this cell."""
    rows: list[list[str]] = []
    for row in cells(page.read_text()):
        if rows and row[0].startswith("---"):
            continue
        if row[0] == first or rows:
            rows.append(row)
    return rows


def case_set(name: str) -> CaseSet:
    return load_cases(next(file for file in shipped_cases() if file.stem == name))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_files_that_a_page_names_are_there(page: Path) -> None:
    text = page.read_text()
    named = [ROOT / path for path in _PATH.findall(text)]
    linked = [page.parent / link for link in _LINK.findall(text) if "://" not in link]
    assert [str(path) for path in (*named, *linked) if not path.exists()] == []


def test_the_map_of_the_house_has_every_room_and_no_other() -> None:
    (tree,) = [block.text for block in blocks() if block.page == "docs/how-it-works.md"]
    shown, folder = set[str](), ""
    for line in tree.splitlines()[1:]:
        name, depth = line.split()[0], len(line) - len(line.lstrip())
        folder = name if depth == 2 else folder
        shown.add(name if depth == 2 else folder + name)
    rooms = {f"{room.parent.name}/" for room in PACKAGE.glob("*/__init__.py")}
    inner = {f"core/{room.parent.name}/" for room in PACKAGE.glob("core/*/__init__.py")}
    assert {one for one in shown if one.endswith("/")} == rooms | (inner - {"core/commands/"})
    assert all((PACKAGE / one).exists() for one in shown)


def test_the_table_of_dependencies_is_what_is_installed() -> None:
    setup = ConfigParser()
    setup.read(ROOT / "setup.cfg")
    extras = setup["options.extras_require"]
    ours = [extras[name] for name in extras if name not in {"test", "lint"}]
    installed = "\n".join([setup["options"]["install_requires"], *ours])
    wanted = {Requirement(line).name.lower() for line in installed.splitlines() if line}
    told = [row[0] for row in cells((ROOT / "docs" / "dependencies.md").read_text())][2:]
    named = {re.sub(r"\s*\([^)]*\)", "", name).lower() for row in told for name in row.split(",")}
    assert {name.strip() for name in named} == wanted


def test_the_figures_of_the_readme_are_of_the_shipped_cases() -> None:
    text = (ROOT / "README.md").read_text()
    cases = case_set("gate_look").cases
    assert f"{len(cases)} labelled objects" in text
    told = {row[0]: row for row in rows_under(ROOT / "README.md", "half")[1:3]}
    for half, held in (("seen", False), ("held out", True)):
        mine = [case for case in cases if case.held_out is held]
        most = majority([case.label for case in mine]).share
        assert (told[half][1], told[half][3]) == (str(len(mine)), f"{most:.0%}".replace("%", " %"))


def test_the_held_out_figure_of_the_readme_is_that_of_its_confusion_table() -> None:
    head, *rows = rows_under(ROOT / "README.md", "")[:7]
    said = {row[0]: dict(zip(head[1:], (int(cell or 0) for cell in row[1:]), strict=True)) for row in rows}
    held = [case for case in case_set("gate_look").cases if case.held_out]
    there = Counter(_in_words(case) for case in held)
    assert {label: sum(row.values()) for label, row in said.items()} == there
    figure = share_of(sum(said[label][label] for label in said), len(held))
    assert figure.share is not None and figure.low is not None and figure.high is not None
    words = f"{figure.share:.0%} ({figure.low * 100:.0f} to {figure.high * 100:.0f})".replace("%", " %")
    assert rows_under(ROOT / "README.md", "half")[2][2] == words


def _in_words(case: Case) -> str:
    return {"van_or_truck": "van or truck", "two_wheeler": "two-wheeler"}.get(case.label, case.label)


def test_the_readme_counts_the_drawn_plates() -> None:
    cases = case_set("gate_plates").cases
    drawn = sum(case.drawn is not None for case in cases)
    assert f"{drawn} plates drawn over pictures and {len(cases) - drawn} pictures without one" in " ".join(
        (ROOT / "README.md").read_text().split()
    )


@pytest.mark.parametrize("room", ["voice", "tools", "frontend"])
def test_an_empty_room_says_what_belongs_there(room: str) -> None:
    (said,) = ast.parse((PACKAGE / room / "__init__.py").read_text()).body
    assert isinstance(said, ast.Expr)
    assert isinstance(said.value, ast.Constant)


def test_every_module_says_first_what_it_is_for() -> None:
    silent = [
        path.relative_to(ROOT).as_posix()
        for path in sorted(PACKAGE.rglob("*.py"))
        if (tree := ast.parse(path.read_text())).body and ast.get_docstring(tree) is None
    ]
    assert silent == []
