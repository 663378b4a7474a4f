"""The OpenAPI description, made from the routes themselves, so that it says what they do."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any, Final

import siteward

from .idempotency import HEADER
from .problems import CONTENT_TYPE
from .routes import Route
from .security import COOKIE, CSRF_HEADER
from .serving import PREFIX
from .shapes import PROBLEM

_ALWAYS: Final = (500, 503)


def describe(routes: Iterable[Route]) -> Mapping[str, Any]:
    """OpenAPI 3.1 of the routes."""
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(PREFIX + route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Siteward", "version": siteward.__version__},
        "paths": paths,
        "components": {
            "schemas": {"Problem": PROBLEM},
            "securitySchemes": {"session": {"type": "apiKey", "in": "cookie", "name": COOKIE}},
        },
    }


def _operation(route: Route) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "summary": route.summary,
        "operationId": re.sub(r"[^a-z]+", "_", f"{route.method}{route.path}".lower()).strip("_"),
        "parameters": _parameters(route),
        "responses": _responses(route),
        "security": [] if route.permission is None else [{"session": []}],
    }
    if route.permission is not None:
        operation["x-permission"] = route.permission.value
    if route.body is not None:
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": route.body}}}
    return operation


def _parameters(route: Route) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in re.findall(r"{(\w+)}", route.path)
    ]
    found += [{"name": name, "in": "query", "schema": shape} for name, shape in route.query.items()]
    if route.writes and route.permission is not None:
        found.append({"name": CSRF_HEADER, "in": "header", "required": True, "schema": {"type": "string"}})
        found.append({"name": HEADER, "in": "header", "schema": {"type": "string", "minLength": 1, "maxLength": 128}})
    return found


def _responses(route: Route) -> dict[str, Any]:
    kind = "image/*" if "contentMediaType" in route.gives else "application/json"
    good = {"description": "Done", "content": {kind: {"schema": {} if kind == "image/*" else route.gives}}}
    refusals = set(route.refuses) | set(_ALWAYS)
    if route.permission is not None:
        refusals |= {401, 403}
    if route.writes or route.query:
        refusals.add(400)
    if route.writes:
        refusals |= {403, 413}
    if route.body is not None:
        refusals.add(415)
    if route.writes and route.permission is not None:
        refusals |= {409, 422}  # an idempotency key in use, or used for another request
    problem = {CONTENT_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {str(route.status): good} | {
        str(status): {"description": HTTPStatus(status).phrase, "content": problem} for status in sorted(refusals)
    }
