"""The responses that errors carry, from both clients and over both protocols."""

import asyncio
import pickle
import socket
from collections.abc import Callable, Iterator

import grpc
import pytest

from orchestrator import AsyncPlateClient, ErrorResponse, Overloaded, PlateClient, PlateError
from tests.client.peers import listening, listening_over_grpc, receive, reply

PICTURE = b"a picture"


def fail(url: str) -> PlateError:
    with PlateClient(url, timeout_s=20) as client, pytest.raises(PlateError) as raised:
        client.recognize(PICTURE)
    return raised.value


def fail_async(url: str) -> PlateError:
    async def run() -> PlateError:
        async with AsyncPlateClient(url, timeout_s=20) as client:
            with pytest.raises(PlateError) as raised:
                await client.recognize(PICTURE)
        return raised.value

    return asyncio.run(run())


both = pytest.mark.parametrize("fail", [fail, fail_async])


@both
@pytest.mark.parametrize(
    ("response", "wanted"),
    [
        pytest.param(reply(503, b'{"error": "full"}'), ErrorResponse(503), id="no-pause"),
        pytest.param(
            reply(503, b"<html>").replace(b"\r\n", b"\r\nRetry-After: 3\r\n", 1),
            ErrorResponse(503, retry_after_s=3.0),
            id="pause",
        ),
        pytest.param(
            reply(400, b'{"error": "no"}').replace(b"\r\n", b"\r\nretry-after: soon\r\n", 1),
            ErrorResponse(400),
            id="unreadable-pause",
        ),
        pytest.param(reply(502, b"<html>"), ErrorResponse(502), id="page"),
        pytest.param(reply(200, b""), ErrorResponse(200), id="empty"),
        pytest.param(reply(200, b"<html>"), ErrorResponse(200), id="unreadable"),
        pytest.param(b"", ErrorResponse(), id="none"),
    ],
)
def test_an_error_carries_the_http_response(
    fail: Callable[[str], PlateError], response: bytes, wanted: ErrorResponse
) -> None:
    def respond(connection: socket.socket) -> None:
        receive(connection)
        connection.sendall(response)

    with listening(respond) as url:
        assert fail(url).response == wanted


@pytest.fixture(scope="module")
def full_over_grpc() -> Iterator[str]:
    """A server that rejects every call as the gateway does when it is full; gives its URL."""

    def reject(_: bytes, context: grpc.ServicerContext) -> bytes:
        context.set_trailing_metadata((("retry-after", "1"),))
        context.abort(grpc.StatusCode.UNAVAILABLE, "all places are taken; try again later")

    with listening_over_grpc(reject) as url:
        yield url


@both
def test_an_error_carries_the_grpc_code_and_the_pause(
    fail: Callable[[str], PlateError], full_over_grpc: str
) -> None:
    error = fail(full_over_grpc)
    assert type(error) is Overloaded
    assert error.response == ErrorResponse(grpc_code="UNAVAILABLE", retry_after_s=1.0)


def test_an_error_of_the_client_has_an_empty_response() -> None:
    with PlateClient("127.0.0.1:9") as client, pytest.raises(PlateError) as raised:
        client.recognize(b"")
    assert raised.value.response == ErrorResponse()


def test_a_pickled_error_keeps_its_response() -> None:
    error = Overloaded("full", response=ErrorResponse(503, retry_after_s=1.0))
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.response) == ("full", error.response)
