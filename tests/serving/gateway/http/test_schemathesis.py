"""The API, tested by schemathesis against its own description, with a fake model."""

import schemathesis

from tests.serving.gateway.fuzzing import CONFIG, checks_of, send_pictures
from tests.serving.gateway.http.rest_app import rest_app
from tests.serving.gateway.http.rest_fakes import FakeInfer

send_pictures()
schema = schemathesis.openapi.from_asgi("/openapi.json", rest_app(FakeInfer()), config=CONFIG)


@schema.parametrize()
def test_the_api_is_as_described(case: schemathesis.Case) -> None:
    case.call_and_validate(checks=checks_of(case))
