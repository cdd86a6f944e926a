"""The real gateway, tested by schemathesis against the API's description."""

import json
from urllib.request import urlopen

import pytest
import schemathesis

from orchestrator.serving.gateway.http.api_docs.openapi import document
from orchestrator.serving.gateway.options import Limits
from tests.serving.gateway.fuzzing import CONFIG, checks_of, prepare

DESCRIBED = document(wants_keys=False, limits=Limits())
schema = schemathesis.pytest.from_fixture("api_schema")


@pytest.fixture
def api_schema(request: pytest.FixtureRequest) -> schemathesis.BaseSchema:
    prepare(request.node)
    return schemathesis.openapi.from_dict(DESCRIBED, config=CONFIG)


def test_the_gateway_describes_this_api(gateway) -> None:
    with urlopen(f"{gateway.url}/openapi.json", timeout=10) as answer:
        document_of_gateway = json.load(answer)
    assert document_of_gateway["paths"].keys() == DESCRIBED["paths"].keys()
    assert document_of_gateway["components"]["schemas"] == DESCRIBED["components"]["schemas"]


@schema.parametrize()
def test_the_api_is_as_described(case: schemathesis.Case, gateway) -> None:
    case.call_and_validate(checks=checks_of(case), base_url=gateway.url, timeout=60)
