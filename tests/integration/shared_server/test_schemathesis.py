"""The real gateway, tested by schemathesis against the API's description."""

import json
from collections.abc import Callable
from urllib.request import urlopen

import schemathesis

from orchestrator.serving.gateway.http.api_docs.openapi import document
from orchestrator.serving.gateway.options import Limits
from tests.serving.gateway.fuzzing import CONFIG, checks_of, one_test_each, send_pictures

send_pictures()
DESCRIBED = document(wants_keys=False, limits=Limits())
schema = schemathesis.openapi.from_dict(DESCRIBED, config=CONFIG)


def test_the_gateway_describes_this_api(gateway) -> None:
    with urlopen(f"{gateway.url}/openapi.json", timeout=10) as answer:
        described = json.load(answer)
    assert described["paths"].keys() == DESCRIBED["paths"].keys()
    assert described["components"]["schemas"] == DESCRIBED["components"]["schemas"]


def as_described(operation: schemathesis.BaseSchema) -> Callable[..., None]:
    @operation.parametrize()
    def answers_as_described(case: schemathesis.Case, gateway) -> None:
        case.call_and_validate(checks=checks_of(case), base_url=gateway.url, timeout=60)

    return answers_as_described


globals().update(one_test_each(schema, as_described))
