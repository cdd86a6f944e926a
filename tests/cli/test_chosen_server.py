"""The number of simultaneous calls that a client chooses from the server's answer."""

import pytest

from orchestrator.cli.chosen_server import fitting_calls
from orchestrator.errors import ErrorResponse, Overloaded, RequestError, ServerError
from orchestrator.serving.gateway.policy.authentication import HOW


class FakeChannel:
    def __init__(self, answer: dict | Exception) -> None:
        self._answer = answer

    async def config(self, timeout_s: float) -> dict:
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer

    async def close(self) -> None:
        pass


@pytest.fixture
def serve(monkeypatch):
    """Make the server give this answer."""

    def answer(answer: dict | Exception) -> None:
        connect = "orchestrator.client.connecting.connect"
        monkeypatch.setattr(connect, lambda url, key: FakeChannel(answer))

    return answer


@pytest.mark.parametrize(
    ("groups", "calls"),
    [
        pytest.param([{"count": 1}], 4, id="one-picture-at-a-time"),
        pytest.param([{"count": 3}], 6, id="two-cores"),
        pytest.param([{"count": 4}, {"count": 4}], 16, id="two-gpus"),
        pytest.param([{"count": 99}], 32, id="more-than-one-client-should-take"),
        pytest.param([], 4, id="nothing-said"),
    ],
)
def test_twice_as_many_calls_as_pictures_in_work(serve, groups: list, calls: int) -> None:
    serve({"instance_group": groups})
    assert fitting_calls("x:1", None, 1.0) == calls


def test_a_server_that_is_busy_is_there(serve) -> None:
    serve(Overloaded("no capacity"))
    assert fitting_calls("x:1", None, 1.0) == 8


def test_no_server_is_an_error(serve) -> None:
    serve(ServerError("cannot connect to x:1: connection refused"))
    with pytest.raises(ServerError, match="cannot connect"):
        fitting_calls("x:1", None, 1.0)


def test_a_wrong_key_is_told_once(serve) -> None:
    serve(RequestError("wanted a key"))
    with pytest.raises(RequestError, match="wanted a key"):
        fitting_calls("x:1", None, 1.0)


@pytest.mark.parametrize(
    "response",
    [
        pytest.param(ErrorResponse(401), id="HTTP"),
        pytest.param(ErrorResponse(grpc_code="UNAUTHENTICATED"), id="gRPC"),
    ],
)
@pytest.mark.parametrize(
    ("key", "told"),
    [
        pytest.param(None, "x:1: this gateway wants a key. Give one by --key", id="none"),
        pytest.param("wrong", "x:1: the key is not known. It was given by --key", id="wrong"),
    ],
)
def test_a_key_is_asked_for_by_the_option_and_not_by_headers(
    serve, response: ErrorResponse, key: str | None, told: str
) -> None:
    said = "the key is not known" if key else f"this gateway wants a key: {HOW}"
    serve(RequestError(said, response=response))
    with pytest.raises(RequestError) as raised:
        fitting_calls("x:1", key, 1.0)
    assert str(raised.value) == f"{told}, or by the variable PLATES_KEY"
