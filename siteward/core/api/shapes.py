"""The shapes of what goes in and out, as JSON Schema (2020-12): one description checks requests, checks answers in tests, and is the OpenAPI."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jsonschema import Draft202012Validator

from siteward.core.errors import SitewardError

Shape = Mapping[str, Any]


class BadRequest(SitewardError):
    """A request that is not as its route describes it."""

    code = "request.invalid"


def text(*, most: int = 2000, least: int = 0, about: str = "") -> dict[str, Any]:
    """A text."""
    shape: dict[str, Any] = {"type": "string", "maxLength": most}
    if least:
        shape["minLength"] = least
    return shape | ({"description": about} if about else {})


def moment() -> dict[str, Any]:
    """A time, RFC 3339 in UTC."""
    return {"type": "string", "format": "date-time"}


def integer(least: int = 0, most: int = 2**53) -> dict[str, Any]:
    """A whole number."""
    return {"type": "integer", "minimum": least, "maximum": most}


def number() -> dict[str, Any]:
    """A number."""
    return {"type": "number"}


def boolean() -> dict[str, Any]:
    """True or false."""
    return {"type": "boolean"}


def choice(options: Sequence[str]) -> dict[str, Any]:
    """One of some words."""
    return {"type": "string", "enum": list(options)}


def nullable(shape: Shape) -> dict[str, Any]:
    """The shape, or null."""
    return {"anyOf": [dict(shape), {"type": "null"}]}


def listing(item: Shape, most: int | None = None) -> dict[str, Any]:
    """A list."""
    return {"type": "array", "items": dict(item)} | ({} if most is None else {"maxItems": most})


def free() -> dict[str, Any]:
    """A mapping whose keys are not fixed."""
    return {"type": "object"}


def record(required: Mapping[str, Shape], optional: Mapping[str, Shape] | None = None) -> dict[str, Any]:
    """A mapping with exactly these keys."""
    properties = {name: dict(shape) for name, shape in {**required, **(optional or {})}.items()}
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def check(shape: Shape, value: Any) -> None:
    """Raise `BadRequest` that names the first place where `value` differs from `shape`."""
    found = sorted(
        Draft202012Validator(dict(shape)).iter_errors(value), key=lambda error: list(map(str, error.absolute_path))
    )
    if found:
        place = "/".join(str(part) for part in found[0].absolute_path)
        message = found[0].message if len(found[0].message) < 200 else f"it is not as {found[0].validator} asks"
        raise BadRequest(
            f"The request is not as this address takes it: {place or 'the body'}: {message}", where=place or None
        )


PROBLEM: Shape = record(
    {"type": text(), "title": text(), "status": integer(400, 599), "code": text(), "detail": text(most=20000)},
    {"place": text(), "problems": listing(free()), "difference": text(most=10**6)},
)
"""A problem detail (RFC 9457) with our code and, where there is one, the place."""
