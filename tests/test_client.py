"""What a caller is told when a server, or a balancer before it, fails."""

import itertools
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest

from orchestrator.client import PlateClient
from orchestrator.errors import ModelError, Overloaded, PlateError, RequestError, ServerError

PICTURE = b"a picture"
PAGE = b"<html><body><h1>No server is available to handle this request.</h1></body></html>"
METHOD = "ModelInfer"


def answer(status: int, body: bytes) -> bytes:
    return b"HTTP/1.1 %d Said\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body)


@pytest.fixture
def http_server() -> Iterator:
    """Answers every call with the same bytes and closes the connection; returns its address."""
    listeners: list[socket.socket] = []

    def start(said: bytes) -> str:
        listener = socket.create_server(("127.0.0.1", 0))
        listeners.append(listener)
        threading.Thread(target=serve, args=(listener, said), daemon=True).start()
        return f"127.0.0.1:{listener.getsockname()[1]}"

    def serve(listener: socket.socket, said: bytes) -> None:
        for _ in itertools.count():
            try:
                connection, _ = listener.accept()
            except OSError:  # the test has ended
                return
            with connection:
                received = b""
                while PICTURE not in received:
                    received += connection.recv(65536)
                connection.sendall(said)

    yield start
    for listener in listeners:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


@pytest.fixture
def grpc_server() -> Iterator:
    """Refuses every call with one code and message; returns its address."""
    servers: list[grpc.Server] = []

    def start(code: grpc.StatusCode, message: str) -> str:
        def refuse(request: bytes, context: grpc.ServicerContext) -> bytes:
            context.abort(code, message)

        server = grpc.server(ThreadPoolExecutor(1))
        handler = grpc.unary_unary_rpc_method_handler(refuse)
        service = grpc.method_handlers_generic_handler(
            "inference.GRPCInferenceService", {METHOD: handler}
        )
        server.add_generic_rpc_handlers((service,))
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        servers.append(server)
        return f"grpc://127.0.0.1:{port}"

    yield start
    for server in servers:
        server.stop(None)


def fault_of(url: str) -> PlateError:
    with PlateClient(url, timeout_s=5) as client, pytest.raises(PlateError) as raised:
        client.recognize(PICTURE)
    return raised.value


@pytest.mark.parametrize(
    ("said", "message"),
    [
        pytest.param(b"", "got connection closed", id="none"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Le", "got .*EOF", id="half-a-head"),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n{", "got Incomplete", id="half-a-body"
        ),
        pytest.param(answer(502, PAGE), r"got HTTP 502 \(request", id="bad-gateway"),
        pytest.param(answer(504, PAGE), r"got HTTP 504 \(request", id="gateway-timeout"),
        pytest.param(answer(408, PAGE), r"got HTTP 408 \(request", id="request-timeout"),
        pytest.param(
            answer(500, b'{"error": "lprnet: Stub process \'lprnet_0_0\' is not healthy."}'),
            "got lprnet: Stub process",
            id="dead-worker",
        ),
    ],
)
def test_no_answer_over_http_is_the_servers_fault(http_server, said: bytes, message: str) -> None:
    url = http_server(said)
    fault = fault_of(url)
    assert type(fault) is ServerError
    assert fault.args[0].startswith(f"{url}: wanted an answer, got ")
    with pytest.raises(ServerError, match=message):
        raise fault


@pytest.mark.parametrize(
    ("status", "body", "kind", "message"),
    [
        pytest.param(400, b'{"error": "not so"}', RequestError, "not so", id="refused"),
        pytest.param(503, b'{"error": "too many"}', Overloaded, "too many", id="full"),
        pytest.param(503, PAGE, Overloaded, "HTTP 503", id="no-server-left"),
        pytest.param(429, PAGE, Overloaded, "HTTP 429", id="too-many-calls"),
        pytest.param(500, b'{"error": "yolo: no"}', ModelError, "yolo: no", id="failed"),
    ],
)
def test_answers_over_http_that_are_errors(http_server, status, body, kind, message) -> None:
    fault = fault_of(http_server(answer(status, body)))
    assert type(fault) is kind
    assert message in str(fault)


@pytest.mark.parametrize(
    ("code", "message", "kind"),
    [
        pytest.param("UNAVAILABLE", "Socket closed", ServerError, id="gone"),
        pytest.param(
            "UNAVAILABLE", "Stream removed (RST_STREAM (error code 7))", ServerError, id="cut-off"
        ),
        pytest.param(
            "CANCELLED", "Received RST_STREAM with error code 8", ServerError, id="cut-off-late"
        ),
        pytest.param(
            "INTERNAL", "Stub process 'yolo_0_0' is not healthy.", ServerError, id="dead-worker"
        ),
        pytest.param(
            "INTERNAL", "yolo: Error when running inference: Server not ready", ServerError,
            id="stopping",
        ),
        pytest.param(
            "NOT_FOUND",
            "Request for unknown model: 'plate_recognition' has no available versions",
            ServerError,
            id="unloading",
        ),
        pytest.param("UNAVAILABLE", "Exceeds maximum queue size", Overloaded, id="full"),
        pytest.param(
            "UNAVAILABLE", "Received http2 header with status: 503", Overloaded, id="no-server-left"
        ),
        pytest.param("INVALID_ARGUMENT", "not so", RequestError, id="refused"),
        pytest.param("INTERNAL", "yolo: no", ModelError, id="failed"),
    ],
)  # fmt: skip
def test_errors_over_grpc(grpc_server, code: str, message: str, kind: type[PlateError]) -> None:
    fault = fault_of(grpc_server(grpc.StatusCode[code], message))
    assert type(fault) is kind
    assert message in str(fault)
