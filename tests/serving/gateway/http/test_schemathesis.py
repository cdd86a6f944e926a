"""The API, tested by schemathesis against its own description, with a fake model."""

import pytest
import schemathesis

from tests.serving.gateway.fuzzing import CONFIG, checks_of, prepare
from tests.serving.gateway.http.rest_app import rest_app
from tests.serving.gateway.http.rest_fakes import FakeInfer

schema = schemathesis.pytest.from_fixture("described")


@pytest.fixture
def described(request: pytest.FixtureRequest) -> schemathesis.BaseSchema:
    prepare(request.node)
    return schemathesis.openapi.from_asgi("/openapi.json", rest_app(FakeInfer()), config=CONFIG)


@schema.parametrize()
def test_the_api_is_as_described(case: schemathesis.Case) -> None:
    case.call_and_validate(checks=checks_of(case))
