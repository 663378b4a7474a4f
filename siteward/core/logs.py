"""Log records that say what they are about: the run, its workflow, the event and the correlation id, as fields of their own.

Whoever drives a run says so once (`with about(run=…)`); everything that is logged inside, by whatever code, carries it. The context is the task's own:
two runs under way at once never mix.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final, TextIO

FIELDS: Final = ("correlation_id", "run", "workflow", "step", "event")
"""The fields that a record may carry beside its message, in the order in which they are written."""
_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})
_about: ContextVar[Mapping[str, str]] = ContextVar("siteward_about", default=_NOTHING)
_TEXT: Final = "%(levelname)-7s %(name)s: %(message)s"
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")
HIDDEN: Final = "***"
SHORTEST_SECRET: Final = 4
"""A secret of fewer letters is no secret, and hiding it would eat the words around it."""


class LogFormat(StrEnum):
    """How records are written."""

    TEXT = "text"
    JSON = "json"


@contextmanager
def about(
    *,
    correlation_id: str | None = None,
    run: str | None = None,
    workflow: str | None = None,
    step: str | None = None,
    event: str | None = None,
) -> Iterator[None]:
    """Everything logged inside is about this, beside what it was about outside. Ids only: never a value that a person or a device gave."""
    given = {"correlation_id": correlation_id, "run": run, "workflow": workflow, "step": step, "event": event}
    token = _about.set({**_about.get(), **{name: value for name, value in given.items() if value is not None}})
    try:
        yield
    finally:
        _about.reset(token)


def now_about(run: str, workflow: str, correlation_id: str, event: str, step: str) -> None:
    """From here on, to the end of the `about` around it: a step of a run. One assignment, since every step of every run makes it."""
    _about.set({"run": run, "workflow": workflow, "correlation_id": correlation_id, "event": event, "step": step})


def write_logs(
    style: LogFormat, *, secrets: Iterable[str] = (), level: int = logging.INFO, stream: TextIO | None = None
) -> None:
    """Write the records of this process to `stream` (standard error): one JSON object a line, or a line for a person. `secrets` are texts that
    no record may show, whoever logs them."""
    handler = logging.StreamHandler(stream)
    handler.addFilter(_note)
    hidden = _pattern(secrets)
    handler.setFormatter(Json(hidden) if style is LogFormat.JSON else Text(hidden))
    logging.basicConfig(level=level, handlers=[handler], force=True)
    logging.getLogger("alembic").setLevel(logging.WARNING)  # its steps at each start tell a user nothing


def _note(record: logging.LogRecord) -> bool:
    """What the record is about, noted on the task that logs: a handler may write it elsewhere."""
    record.about = _about.get()
    return True


def _pattern(secrets: Iterable[str]) -> re.Pattern[str] | None:
    long_first = sorted({one for one in secrets if len(one) >= SHORTEST_SECRET}, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, long_first))) if long_first else None


class Text(logging.Formatter):
    """A line for a person; the run stands at its end, so that `siteward runs` finds it. What continues a record is indented: a text from outside
    cannot write a record of its own."""

    def __init__(self, hidden: re.Pattern[str] | None = None) -> None:
        super().__init__(_TEXT)
        self._hidden = hidden

    def format(self, record: logging.LogRecord) -> str:
        return _without(self._hidden, super().format(record))

    def formatMessage(self, record: logging.LogRecord) -> str:
        said = _continued(super().formatMessage(record))
        run = _known(record).get("run")
        return said if run is None or run in said else f"{said} [run {run}]"

    def formatException(self, ei: Any) -> str:
        return "    " + _continued(super().formatException(ei))


class Json(logging.Formatter):
    """One JSON object per record and line: time, level, logger, message, what it is about, and the trace of an error."""

    def __init__(self, hidden: re.Pattern[str] | None = None) -> None:
        super().__init__()
        self._hidden = hidden

    def format(self, record: logging.LogRecord) -> str:
        said: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _without(self._hidden, record.getMessage()),
        }
        known = _known(record)
        said |= {name: known[name] for name in FIELDS if name in known}
        if record.exc_info and record.exc_info[0] is not None:
            said["error"] = record.exc_info[0].__name__
            said["trace"] = _without(self._hidden, self.formatException(record.exc_info))
        return json.dumps(said)


def _known(record: logging.LogRecord) -> Mapping[str, str]:
    known: Mapping[str, str] = getattr(record, "about", _NOTHING)
    return known


def _without(hidden: re.Pattern[str] | None, said: str) -> str:
    return said if hidden is None else hidden.sub(HIDDEN, said)


def _continued(said: str) -> str:
    return _CONTROL.sub(_escaped, said).replace("\n", "\n    ")


def _escaped(found: re.Match[str]) -> str:
    return found.group().encode("unicode_escape").decode()
