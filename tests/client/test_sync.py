"""Errors that a caller gets when a server, or a load balancer in front of it, fails."""

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import grpc
import pytest

from orchestrator.client import PlateClient
from orchestrator.client.transport import FakeTransport
from orchestrator.errors import (
    ErrorResponse,
    ModelError,
    Overloaded,
    PlateError,
    RequestError,
    ServerError,
)
from orchestrator.plates import Plates
from tests.client.peers import (
    answer_all,
    answer_of,
    listening,
    listening_over_grpc,
    outputs,
    receive,
    reply,
)

PICTURE = b"a picture"
PAGE = b"<html><body><h1>No server is available to handle this request.</h1></body></html>"


@pytest.fixture
def http_server() -> Iterator:
    """Answers every call with the same bytes and closes the connection; returns its address."""
    with ExitStack() as stack:

        def start(answer: bytes) -> str:
            def handle(connection: socket.socket) -> None:
                receive(connection)
                connection.sendall(answer)

            return stack.enter_context(listening(handle))

        yield start


@pytest.fixture
def grpc_server() -> Iterator:
    """Rejects every call with one code and message, or never answers; yields its address."""
    with ExitStack() as stack:

        def start(code: grpc.StatusCode | None, message: str) -> str:
            def refuse(_: bytes, context: grpc.ServicerContext) -> bytes:
                if code is not None:
                    context.abort(code, message)
                return b""  # a message without outputs

            return stack.enter_context(listening_over_grpc(refuse))

        yield start


@pytest.fixture
def fault_of(recognize: Callable[..., Plates]) -> Callable[[str], PlateError]:
    """Return the error of a call with each of the clients."""

    def call(url: str) -> PlateError:
        with pytest.raises(PlateError) as failure:
            recognize(url)
        return failure.value

    return call


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        pytest.param(b"", "got Remote end closed connection without response", id="none"),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nContent-Le", "got (an empty answer|Remote end)", id="half-a-head"
        ),
        pytest.param(b"SSH-2.0-OpenSSH", "got what is no HTTP; for gRPC", id="no-http"),
        pytest.param(reply(200, b""), "got an empty answer", id="empty"),
        pytest.param(reply(302, PAGE), "got HTTP 302", id="elsewhere"),
        pytest.param(reply(404, PAGE), "got HTTP 404", id="page-not-found"),
        pytest.param(reply(500, PAGE), "got HTTP 500", id="page-of-an-error"),
        pytest.param(reply(500, b'{"detail": "no"}'), "got HTTP 500", id="error-of-another"),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n{",
            "got (Incomplete|Response payload is not completed)",
            id="half-a-body",
        ),
        pytest.param(reply(502, PAGE), r"got HTTP 502 \(request", id="bad-gateway"),
        pytest.param(reply(404, b'{"error": "Not Found"}'), "got Not Found", id="another-path"),
        pytest.param(
            reply(405, b'{"error": "Method Not Allowed"}'),
            "got Method Not",
            id="another-port",
        ),
        pytest.param(reply(504, b'{"error": "late"}'), r"got late \(request", id="gateway-timeout"),
        pytest.param(reply(408, PAGE), r"got HTTP 408 \(request", id="request-timeout"),
        pytest.param(
            reply(500, b'{"error": "lprnet: Stub process \'lprnet_0_0\' is not healthy."}'),
            "got lprnet: Stub process",
            id="dead-worker",
        ),
    ],
)
def test_no_answer_over_http_is_a_server_error(
    http_server, fault_of, answer: bytes, message: str
) -> None:
    url = http_server(answer)
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
        pytest.param(404, b'{"error": "no such"}', RequestError, "no such", id="not-found"),
        pytest.param(401, b'{"error": "no key"}', RequestError, "no key", id="no-key"),
        pytest.param(401, PAGE, RequestError, "HTTP 401", id="no-key-for-a-balancer"),
        pytest.param(413, PAGE, RequestError, "HTTP 413", id="too-large"),
        pytest.param(503, PAGE, Overloaded, "HTTP 503", id="no-server-left"),
        pytest.param(429, PAGE, Overloaded, "HTTP 429", id="too-many-calls"),
        pytest.param(500, b'{"error": "yolo: no"}', ModelError, "yolo: no", id="failed"),
    ],
)
def test_error_responses_over_http(http_server, fault_of, status, body, kind, message) -> None:
    fault = fault_of(http_server(reply(status, body)))
    assert type(fault) is kind
    assert message in str(fault)
    assert fault.response == ErrorResponse(status)


def output(name: str, **changes: object) -> dict[str, object]:
    by_name = {output["name"]: output for output in outputs()}
    return by_name[name] | changes


def without(name: str) -> list[dict[str, object]]:
    return [output for output in outputs() if output["name"] != name]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param(PAGE, "no answer of plate_recognition", id="page"),
        pytest.param(b"{}", "got none named coordinates", id="no-outputs"),
        pytest.param(b'{"outputs": [{"name": "texts"', "no answer of", id="cut-short"),
        pytest.param(without("formats"), "got none named formats", id="no-formats"),
        pytest.param(
            [*without("texts"), output("texts", shape=[1, 1], data=["A001AA77"])],
            r"wanted texts as object \[0, 1\], got object \[1, 1\]",
            id="other-number-of-plates",
        ),
        pytest.param(
            [*without("corners"), output("corners", shape=[1, 4, 2])],
            "no answer of plate_recognition",
            id="fewer-values-than-declared",
        ),
    ],
)
def test_an_invalid_answer_is_a_server_error(http_server, fault_of, body, message: str) -> None:
    url = http_server(reply(200, body) if isinstance(body, bytes) else answer_of(body))
    fault = fault_of(url)
    assert type(fault) is ServerError
    assert fault.args[0].startswith(f"{url}: ")
    with pytest.raises(ServerError, match=rf"{message}.*\(request \w+\)$"):
        raise fault


@pytest.mark.parametrize(
    ("code", "message", "kind"),
    [
        pytest.param("UNAVAILABLE", "Socket closed", ServerError, id="gone"),
        pytest.param(
            "UNIMPLEMENTED", "Received http2 header with status: 404", ServerError, id="another"
        ),
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
        pytest.param("RESOURCE_EXHAUSTED", "wanted up to 20 calls", Overloaded, id="too-many"),
        pytest.param(
            "RESOURCE_EXHAUSTED",
            "SERVER: Received message larger than max (36000232 vs. 33619968)",
            RequestError,
            id="too-large",
        ),
        pytest.param(
            "RESOURCE_EXHAUSTED", "gRPC message exceeds maximum size 9: 10", RequestError, id="Java"
        ),
        pytest.param(
            "RESOURCE_EXHAUSTED", "message: wanted up to 9 bytes, got more", RequestError, id="ours"
        ),
        pytest.param(
            "UNKNOWN", "Received http2 header with status: 413", RequestError, id="proxy-too-large"
        ),
        pytest.param("PERMISSION_DENIED", "the key has no right", RequestError, id="no-right"),
        pytest.param("UNAUTHENTICATED", "the key is not known", RequestError, id="no-key"),
        pytest.param("NOT_FOUND", "wanted one of plate_rec", RequestError, id="another-model"),
        pytest.param("INVALID_ARGUMENT", "not so", RequestError, id="refused"),
        pytest.param("INTERNAL", "yolo: no", ModelError, id="failed"),
    ],
)  # fmt: skip
def test_error_responses_over_grpc(
    grpc_server, fault_of, code: str, message: str, kind: type[PlateError]
) -> None:
    fault = fault_of(grpc_server(grpc.StatusCode[code], message))
    assert type(fault) is kind
    assert message in str(fault)
    assert fault.response == ErrorResponse(grpc_code=code)


@pytest.mark.parametrize("name", ["http_proxy", "grpc_proxy", "https_proxy"])
def test_grpc_uses_no_proxy(grpc_server, fault_of, name: str, monkeypatch) -> None:
    monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_grpc_proxy", raising=False)
    fault = fault_of(grpc_server(grpc.StatusCode.INVALID_ARGUMENT, "not so"))
    assert "not so" in str(fault)


def test_an_invalid_answer_over_grpc_is_a_server_error(grpc_server, fault_of) -> None:
    fault = fault_of(grpc_server(None, ""))
    assert type(fault) is ServerError
    assert "got none named coordinates" in str(fault)


@pytest.mark.parametrize("name", ["http_proxy", "HTTP_PROXY", "ALL_PROXY"])
def test_http_uses_no_proxy(name: str, recognize, monkeypatch) -> None:
    monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    with listening(answer_all) as url:
        assert len(recognize(url)) == 0


def test_several_threads_count_their_retries() -> None:
    transport = FakeTransport(Overloaded("full", response=ErrorResponse(503)))
    with PlateClient(transport=transport, retries=1) as client:
        results = list(client.recognize_many([PICTURE] * 16, in_flight=8))
    assert all(type(result.outcome) is Overloaded for result in results)
    assert client.retried == 16


@pytest.mark.parametrize("url", ["127.0.0.1:9", "grpc://127.0.0.1:9"])
def test_a_closed_client_raises_an_error(url: str) -> None:
    client = PlateClient(url, retries=5)
    client.close()
    client.close()
    with pytest.raises(RequestError, match=f"^{url}: the client is closed$"):
        client.recognize(PICTURE)
    with pytest.raises(RequestError, match="the client is closed"):
        client.is_ready()
    assert client.retried == 0


@pytest.mark.parametrize("scheme", ["http", "grpc"])
def test_closing_a_client_ends_its_calls(scheme: str) -> None:
    def close_the_client(connection: socket.socket) -> None:
        connection.recv(65536)
        client.close()

    with (
        listening(close_the_client) as address,
        PlateClient(f"{scheme}://{address}", timeout_s=60) as client,
        pytest.raises(RequestError, match=r"the client is closed$"),
    ):
        client.recognize(PICTURE)
