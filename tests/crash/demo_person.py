"""Somebody who uses the demo over its API, as the pages do. A host that is dead gives no answer, and that is no error."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from http.client import HTTPConnection, HTTPException
from typing import Any
from urllib.parse import urlsplit

SECONDS = 60.0


class NoAnswer(Exception):
    """The host did not answer."""


class Refused(Exception):
    """The host refused, with its sentence."""


@dataclass(frozen=True)
class Person:
    """A session: its cookie and its token, which outlive the host."""

    cookie: str = ""
    csrf: str = ""

    def entered(self, address: str, path: str, body: dict[str, Any]) -> Person:
        """Log in, or make the first account."""
        connection = self._sent(address, "POST", path, body)
        answer = connection.getresponse()
        told = json.loads(answer.read())
        connection.close()
        assert answer.status < 300, told
        cookie = str(answer.getheader("Set-Cookie")).split(";")[0]
        return replace(self, cookie=cookie, csrf=told["csrf"])

    def call(self, address: str, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """One request. Raises `NoAnswer`, `Refused`."""
        return self.send(address, method, path, body).answer()

    def send(self, address: str, method: str, path: str, body: dict[str, Any] | None = None) -> Sent:
        """Send a request and do not wait. Raises `NoAnswer`."""
        try:
            return Sent(self._sent(address, method, path, body))
        except OSError as error:
            raise NoAnswer from error

    def _sent(self, address: str, method: str, path: str, body: dict[str, Any] | None) -> HTTPConnection:
        connection = HTTPConnection(urlsplit(address).netloc, timeout=SECONDS)
        headers = {"Origin": address, "Content-Type": "application/json"}
        headers |= {"Cookie": self.cookie, "X-CSRF-Token": self.csrf} if self.cookie else {}
        connection.request(method, f"/api/v1{path}", None if body is None else json.dumps(body), headers)
        return connection


@dataclass(frozen=True)
class Sent:
    """A request under way."""

    connection: HTTPConnection

    def answer(self) -> Any:
        """Its answer. Raises `NoAnswer`, `Refused`."""
        try:
            answer = self.connection.getresponse()
            told = json.loads(answer.read())
        except (OSError, HTTPException, ValueError) as error:
            raise NoAnswer from error
        finally:
            self.connection.close()
        if answer.status >= 400:
            raise Refused(f"{answer.status}: {told.get('detail') or told.get('title')}")
        return told
