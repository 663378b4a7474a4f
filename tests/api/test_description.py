"""The OpenAPI description is made from the routes, is well-formed, and names every one of them."""

from jsonschema import Draft202012Validator

from siteward.core.api.app import ROUTES
from siteward.core.api.openapi import describe
from siteward.core.api.serving import PREFIX

from .conftest import Visitors
from .house import House


async def test_the_host_serves_the_description_of_its_own_routes(house: House, visit: Visitors) -> None:
    served = await (await visit("vera")).get("/openapi.json")
    assert served["openapi"] == "3.1.0"
    described = {(method, path) for path, entry in served["paths"].items() for method in entry}
    assert described == {(route.method.lower(), PREFIX + route.path) for route in ROUTES}


def test_every_schema_is_a_schema_and_every_operation_has_its_own_name() -> None:
    names = set()
    for entry in describe(ROUTES)["paths"].values():
        for operation in entry.values():
            names.add(operation["operationId"])
            if "requestBody" in operation:
                Draft202012Validator.check_schema(operation["requestBody"]["content"]["application/json"]["schema"])
            for answer in operation["responses"].values():
                for content in answer["content"].values():
                    Draft202012Validator.check_schema(content["schema"])
    assert len(names) == len(ROUTES)


def test_every_route_says_what_it_is_for() -> None:
    for route in ROUTES:
        assert route.summary
        assert route.answer.__doc__ or route.path == "/openapi.json"
