"""The connections of a caller, against servers of a few lines."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler

import grpc
import pytest

from orchestrator.serving.supervisor.ports import free_ports
from tests.http_servers import QuietHandler, running_http
from workshop.benchmarks.load.connections import (
    ANSWERED,
    DROPPED,
    LOST,
    METHOD,
    Connection,
    Reply,
    explain_error,
)
from workshop.benchmarks.load.requests import HEADER, GrpcRequest, HttpRequest, Request

RIGHT = HttpRequest("/", b"x")


class PathGateway(QuietHandler, BaseHTTPRequestHandler):
    """Answers by path; without an answer it closes the connection."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        if self.path == "/hang-up":
            self.close_connection = True
            return
        status, body = (503, b"full") if self.path == "/full" else (200, b"{}rest")
        self.send_response(status)
        self.send_header(HEADER, "2")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class GrpcGateway(grpc.GenericRpcHandler):
    """Answers with what it got; refuses an empty request."""

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        is_known = details.method == METHOD
        return grpc.unary_unary_rpc_method_handler(self.infer) if is_known else None

    def infer(self, request: bytes, context: grpc.ServicerContext) -> bytes:
        if not request:
            context.abort(grpc.StatusCode.UNAVAILABLE, "the queue is full")
        return request


@pytest.fixture(scope="module")
def addresses() -> Iterator[tuple[str, str]]:
    server = grpc.server(ThreadPoolExecutor(2), handlers=[GrpcGateway()])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    with running_http(PathGateway) as listening:
        yield f"127.0.0.1:{listening.server_port}", f"127.0.0.1:{port}"
    server.stop(None).wait()


@pytest.fixture
def connection(addresses: tuple[str, str]) -> Iterator[Connection]:
    client = Connection(*addresses)
    yield client
    client.close()


@pytest.mark.parametrize(
    ("request_", "reply"),
    [
        pytest.param(RIGHT, Reply(ANSWERED, b"{}rest", 2), id="HTTP"),
        pytest.param(HttpRequest("/full", b"x"), Reply("503", error="full"), id="HTTP-refused"),
        pytest.param(GrpcRequest(b"x"), Reply(ANSWERED, b"x"), id="gRPC"),
        pytest.param(
            GrpcRequest(b""), Reply("UNAVAILABLE", error="the queue is full"), id="gRPC-refused"
        ),
    ],
)
def test_a_reply_has_the_answer_or_the_error(
    connection: Connection, request_: Request, reply: Reply
) -> None:
    assert connection.send(request_) == reply
    assert connection.send(RIGHT).status == ANSWERED  # the connection goes on


@pytest.mark.parametrize("request_", [RIGHT, GrpcRequest(b"x")], ids=["HTTP", "gRPC"])
def test_a_caller_that_hangs_up_gets_no_answer(connection: Connection, request_: Request) -> None:
    assert connection.send(request_, hang_up_s=0.001) == Reply(DROPPED)
    assert connection.send(request_).status == ANSWERED


def test_a_lost_connection_is_opened_again(connection: Connection) -> None:
    assert connection.send(HttpRequest("/hang-up", b"x")).status == LOST
    assert connection.send(RIGHT).status == ANSWERED


@pytest.mark.parametrize("request_", [RIGHT, GrpcRequest(b"x")], ids=["HTTP", "gRPC"])
def test_a_call_without_a_server_is_lost(request_: Request) -> None:
    connection = Connection(*(f"127.0.0.1:{port}" for port in free_ports(2)))
    assert connection.send(request_).status == LOST
    connection.close()


@pytest.mark.parametrize(
    ("code", "details", "status"),
    [
        ("UNAVAILABLE", "Socket closed", LOST),
        ("UNAVAILABLE", "failed to connect to all addresses", LOST),
        ("UNAVAILABLE", "the service is away for a moment; try again", "UNAVAILABLE"),
        ("DEADLINE_EXCEEDED", "Deadline Exceeded", LOST),
        ("DEADLINE_EXCEEDED", "call: wanted an answer within 60 s", "DEADLINE_EXCEEDED"),
        ("INTERNAL", "connection", "INTERNAL"),
    ],
)
def test_a_broken_connection_is_not_an_error_of_the_server(
    code: str, details: str, status: str
) -> None:
    assert explain_error(code, details).status == status
