"""The number of simultaneous calls that a client chooses from the server's answer."""

from unittest.mock import AsyncMock

import pytest

from orchestrator.cli.chosen_server import fitting_calls
from orchestrator.errors import ErrorResponse, Overloaded, PlateError, RequestError, ServerError
from orchestrator.serving.gateway.policy.authentication import HOW


@pytest.fixture
def serve(monkeypatch):
    """Make the server give this answer."""

    def answer(answer: dict | Exception) -> None:
        channel = AsyncMock(**{"config.side_effect": [answer]})
        monkeypatch.setattr("orchestrator.client.connecting.connect", lambda url, key: channel)

    return answer


@pytest.mark.parametrize(
    ("groups", "calls"),
    [
        pytest.param([{"count": 1}], 4, id="one-picture-at-a-time"),
        pytest.param([{"count": 3}], 6, id="two-cores"),
        pytest.param([{"count": 4}, {"count": 4}], 16, id="two-gpus"),
        pytest.param([{"count": 99}], 32, id="more-than-one-client-should-take"),
        pytest.param([{"count": "1"}, {"count": 2}], 6, id="a-number-as-text"),
        pytest.param([{"name": "a"}], 4, id="no-count"),
        pytest.param([], 4, id="nothing-said"),
    ],
)
def test_twice_as_many_calls_as_pictures_in_work(serve, groups: list, calls: int) -> None:
    serve({"instance_group": groups})
    assert fitting_calls("x:1", None, 1.0) == calls


def test_a_server_that_is_busy_is_there(serve) -> None:
    serve(Overloaded("no capacity"))
    assert fitting_calls("x:1", None, 1.0) == 8


@pytest.mark.parametrize(
    "error",
    [ServerError("cannot connect to x:1"), RequestError("wanted a key")],
)
def test_no_server_and_no_key_are_errors(serve, error: PlateError) -> None:
    serve(error)
    with pytest.raises(type(error), match=str(error)):
        fitting_calls("x:1", None, 1.0)


@pytest.mark.parametrize(
    "response",
    [
        pytest.param(ErrorResponse(401), id="HTTP"),
        pytest.param(ErrorResponse(grpc_code="UNAUTHENTICATED"), id="gRPC"),
    ],
)
@pytest.mark.parametrize(
    ("key", "message"),
    [
        pytest.param(None, "x:1: this gateway wants a key. Give one by --key", id="none"),
        pytest.param("wrong", "x:1: the key is not known. It was given by --key", id="wrong"),
    ],
)
def test_a_key_is_asked_for_by_the_option_and_not_by_headers(
    serve, response: ErrorResponse, key: str | None, message: str
) -> None:
    server_message = "the key is not known" if key else f"this gateway wants a key: {HOW}"
    serve(RequestError(server_message, response=response))
    with pytest.raises(RequestError) as failure:
        fitting_calls("x:1", key, 1.0)
    assert str(failure.value) == f"{message}, or by the variable PLATES_KEY"
