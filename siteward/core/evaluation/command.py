"""`siteward eval`: what the command does once the model is open."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TextIO

from rich.console import Console

from siteward.core.agent import LLMClient, Tables

from .calibrate import read_tables, write_tables
from .cases import load_cases
from .report import print_report, to_json
from .run import run_eval

SHIPPED = Path(__file__).parents[2] / "blueprints" / "cases"
"""Where the case sets that come with Siteward are."""


def shipped_cases() -> tuple[Path, ...]:
    """The shipped case sets."""
    return tuple(sorted(SHIPPED.glob("*.yaml")))


async def cli_eval(
    files: tuple[Path, ...],
    client: LLMClient,
    *,
    out: TextIO,
    repeats: int = 1,
    calibrate: bool = False,
    as_json: bool = False,
    least: float | None = None,
) -> bool:
    """Run the case sets (all shipped ones where none is named) and print tables, or JSON with `as_json`. `calibrate` runs without a confidence floor and
    writes the tables of the seen half. `least`: the Wilson lower bound of the held-out accuracy that must be reached; False where it is not.
    Raises `ConfigurationInvalid` for a case set or a picture that cannot be read."""
    console = Console(file=out, width=None if out.isatty() else 160)
    reports, passed = [], True
    for file in files or shipped_cases():
        cases = load_cases(file)
        tables = Tables() if calibrate else read_tables(cases, client.capabilities.digest)
        evaluation = await run_eval(cases, client, repeats, tables=tables)
        report = to_json(evaluation)
        low = report["groups"]["held-out"]["accuracy"]["low"]
        passed = passed and (least is None or (low is not None and low >= least))
        reports.append(report)
        if not as_json:
            print_report(evaluation, console)
        if calibrate:
            written = write_tables(evaluation)
            if not as_json:
                console.print(f"Calibration of the seen half written to {written}.")
    if as_json:
        out.write(json.dumps({"reports": reports, "passed": passed}, indent=1) + "\n")
    return passed
