"""A database that gives no good answer (full, locked, away): remembered while it lasts, since nothing can be written then, and told in an alert
once it is over."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from siteward.core.contract.durations import say_duration
from siteward.core.engine.parts import Parts
from siteward.core.engine.records import site_alert
from siteward.core.engine.schedule import zone_named

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Since:
    boot: float
    began: str
    sentence: str
    refused: int = 0


class Outage:
    """Whether the database is believed to work, and since when it does not."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._since: _Since | None = None

    @property
    def sentence(self) -> str | None:
        """What is wrong, for people who look now; None where nothing is."""
        if self._since is None:
            return None
        return f"Since {self._since.began} nothing can be written and no event is taken. {self._since.sentence}"

    def failed(self, sentence: str, *, refused: int = 0) -> None:
        """The database gave no good answer; `refused` events were not taken for it."""
        if self._since is None:
            _log.error("The engine takes no events until the database answers again. %s", sentence)
            zone = zone_named(self._parts.site.zone)
            began = self._parts.clock.now().astimezone(zone).strftime("%Y-%m-%d %H:%M:%S")
            self._since = _Since(self._parts.clock.since_boot(), began, sentence)
        self._since.refused += refused

    async def look(self) -> None:
        """See whether it is over, and then say that it was. Raises what a write raises where it is not."""
        since = self._since
        if since is None:
            return
        lasted = say_duration(self._parts.clock.since_boot() - since.boot)
        message = (
            f"{since.sentence} Since {since.began}. Runs under way stood still and go on. "
            f"{since.refused} events were not taken: their sources were told so."
        )
        await self._parts.store.submit(*site_alert(self._parts, f"The database gave no answer for {lasted}", message))
        self._since = None
        _log.warning("The database answers again after %s.", lasted)
