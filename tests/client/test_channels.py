"""Every request has the API key, over both protocols, and no message shows it."""

import logging
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import grpc
import pytest
from tritonclient.grpc import service_pb2 as pb

from orchestrator.client import PlateClient
from orchestrator.errors import PlateError, RequestError
from tests.client.peers import listening, parse, receive, reply

KEY = "plk_hush"
REFUSED = reply(401, b'{"error": "the key is not known"}')
CALLS = [
    pytest.param(lambda client: client.recognize(b"a picture"), id="infer"),
    pytest.param(lambda client: client.is_ready(), id="ready"),
    pytest.param(lambda client: client.server_settings(), id="config"),
]
Keys = set[str | None]


@pytest.fixture
def http() -> Iterator[tuple[str, Keys]]:
    """The URL of a server, and the `Authorization` headers that it received."""
    keys: Keys = set()

    def answer(connection: socket.socket) -> None:
        while request := receive(connection):
            headers, _ = parse(request)
            keys.add(headers.get("authorization"))
            connection.sendall(reply(200, b"{}"))

    with listening(answer) as url:
        yield url, keys


class RecordingServicer(grpc.GenericRpcHandler):
    """A gRPC service that is always ready, and records each call's `authorization`."""

    def __init__(self) -> None:
        self.keys: Keys = set()

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
        self.keys.add(dict(details.invocation_metadata).get("authorization"))
        ready = pb.ServerReadyResponse(ready=True).SerializeToString()
        is_ready = details.method.endswith("Ready")
        return grpc.unary_unary_rpc_method_handler(lambda *_: ready if is_ready else b"")


@pytest.fixture
def over_grpc() -> Iterator[tuple[str, Keys]]:
    servicer, server = RecordingServicer(), grpc.server(ThreadPoolExecutor(1))
    server.add_generic_rpc_handlers((servicer,))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield f"grpc://127.0.0.1:{port}", servicer.keys
    server.stop(None)


@pytest.fixture(params=["http", "over_grpc"])
def recorded(request: pytest.FixtureRequest) -> tuple[str, Keys]:
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    ("key", "sent"),
    [pytest.param(None, {None}, id="none"), pytest.param(KEY, {f"Bearer {KEY}"}, id="one")],
)
def test_every_request_has_the_key(
    recorded: tuple[str, Keys], call: Callable[[PlateClient], object], key: str | None, sent: Keys
) -> None:
    url, keys = recorded
    with PlateClient(url, key=key, timeout_s=20) as client, suppress(PlateError):
        call(client)
    assert keys == sent


@pytest.mark.parametrize("method", ["recognize", "server_settings"])
def test_a_rejected_key_is_in_no_message(method: str, caplog: pytest.LogCaptureFixture) -> None:
    def refuse(connection: socket.socket) -> None:
        receive(connection)
        connection.sendall(REFUSED)

    arguments = {"recognize": [b"a picture"], "server_settings": []}[method]
    caplog.set_level(logging.DEBUG)
    with (
        listening(refuse) as url,
        PlateClient(url, key=KEY, timeout_s=20, retries=3) as client,
        pytest.raises(RequestError, match=r"^the key is not known") as failure,
    ):
        getattr(client, method)(*arguments)
    assert client.retried == 0
    assert KEY not in f"{failure.value!r} {client!r} {caplog.text}"
