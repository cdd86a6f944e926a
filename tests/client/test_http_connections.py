"""The pool of HTTP connections: sharing, reuse, renewal and closing."""

import queue
import socket
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest
from urllib3.exceptions import HTTPError

from orchestrator.client.http_connections import ConnectionPool, IdleConnections
from orchestrator.client.inference import HttpResponse, OutgoingRequest
from orchestrator.client.sockets import TimedSocket, open_socket
from orchestrator.errors import ServerError
from orchestrator.plates import Plates
from tests.client.peers import (
    CountingServer,
    Handle,
    answer_of,
    listening,
    outputs,
    receive,
    reply,
)

POST = OutgoingRequest("POST", "/", b"a picture")
OK = reply(200, b"{}")
BEGINNINGS = (b"H", b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n{")
"""Incomplete beginnings of a response."""
ENDS = pytest.mark.parametrize("resets", [False, True], ids=["closed", "reset"])


@pytest.fixture
def connect() -> Iterator[Callable[[Handle], ConnectionPool]]:
    """Start a server; yield a pool of connections to it."""
    with ExitStack() as stack:

        def start(handle: Handle) -> ConnectionPool:
            host, port = stack.enter_context(listening(handle)).split(":")
            pool = ConnectionPool(host, int(port), None)
            stack.callback(pool.close)
            return pool

        yield start


def post(pool: ConnectionPool, timeout_s: float = 20) -> HttpResponse:
    return pool.send(POST, timeout_s)


@pytest.mark.parametrize("status", [200, 400, 503])
def test_a_connection_is_kept_after_any_response(connect, status: int) -> None:
    server = CountingServer(reply(status, b"{}"))
    pool = connect(server)
    responses = [post(pool) for _ in range(5)]
    assert [(response.status, response.body) for response in responses] == [(status, b"{}")] * 5
    assert (server.connections, server.requests) == (1, 5)


class ReferencedBody(bytearray):
    """Bytes to which weak references are possible."""


@pytest.mark.parametrize("requests", [1, 2])
def test_an_idle_connection_keeps_no_body(connect, requests: int) -> None:
    pool = connect(CountingServer(OK))
    for _ in range(requests):
        body = ReferencedBody(b"a picture")
        pool.send(OutgoingRequest("POST", "/", body), 20)
    reference = weakref.ref(body)
    del body
    assert reference() is None


def test_connections_beyond_the_limit_are_closed_after_their_request(
    connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orchestrator.client.http_connections.CONNECTIONS", 2)
    all_are_there = threading.Barrier(3, timeout=60)
    closings = threading.Semaphore(0)

    def respond_when_all_are_there(connection: socket.socket) -> None:
        while receive(connection):
            all_are_there.wait()
            connection.sendall(OK)
        closings.release()

    pool = connect(respond_when_all_are_there)
    with ThreadPoolExecutor(3) as threads:
        assert all(response.status == 200 for response in threads.map(post, [pool] * 3))
    assert closings.acquire(timeout=20)
    assert not closings.acquire(blocking=False)


def test_idle_connections_are_a_stack_with_a_limit() -> None:
    idle = IdleConnections(2)
    idle.put("first")
    idle.put("second")
    with pytest.raises(queue.Full):
        idle.put("third")
    assert [idle.get(), idle.get()] == ["second", "first"]
    with pytest.raises(queue.Empty):
        idle.get()


def test_a_connection_that_was_closed_while_idle_is_replaced(connect) -> None:
    server = CountingServer(OK, goes_on=False, listens_on=False)
    is_closed = threading.Event()

    def close_after_one(connection: socket.socket) -> None:
        server(connection)
        connection.close()
        is_closed.set()

    pool = connect(close_after_one)
    post(pool)
    assert is_closed.wait(60)
    assert post(pool).status == 200
    assert (server.connections, server.requests) == (2, 2)


@ENDS
def test_a_request_is_sent_again_if_its_idle_connection_ends(connect, resets: bool) -> None:
    server = CountingServer(OK, goes_on=False, resets=resets)
    pool = connect(server)
    post(pool)
    assert post(pool).status == 200  # the first connection takes the request and closes
    assert (server.connections, server.requests) == (2, 3)


def test_a_request_is_sent_again_once_only(connect) -> None:
    server = CountingServer(OK, goes_on=False)

    def respond_to_the_first_only(connection: socket.socket) -> None:
        server(connection)
        server.answers = ()

    pool = connect(respond_to_the_first_only)
    post(pool)
    with pytest.raises(HTTPError, match="Remote end closed"):
        post(pool)
    assert server.requests == 3


def test_a_request_on_a_new_connection_is_not_sent_again(connect) -> None:
    server = CountingServer(goes_on=False)
    with pytest.raises(HTTPError, match="Remote end closed"):
        post(connect(server))
    assert server.requests == 1


@ENDS
@pytest.mark.parametrize("beginning", BEGINNINGS)
def test_a_request_is_not_sent_again_once_the_response_began(
    connect, beginning: bytes, resets: bool
) -> None:
    server = CountingServer(OK, beginning, goes_on=False, listens_on=False, resets=resets)
    pool = connect(server)
    post(pool)
    with pytest.raises(HTTPError):
        post(pool)
    assert server.requests == 2


def test_a_request_that_is_sent_again_has_the_rest_of_the_timeout(connect, monkeypatch) -> None:
    timeouts: list[float] = []

    def record_timeout(host: str, port: int, timeout_s: float) -> TimedSocket:
        timeouts.append(timeout_s)
        return open_socket(host, port, timeout_s)

    def end_late(connection: socket.socket) -> None:
        receive(connection)
        connection.sendall(OK)
        receive(connection)
        time.sleep(0.2)

    monkeypatch.setattr("orchestrator.client.http_connections.open_socket", record_timeout)
    pool = connect(end_late)
    post(pool)
    post(pool)
    first_s, second_s = timeouts
    assert first_s <= 20
    assert 0 < second_s <= 19.8


def test_a_redirect_is_not_followed(connect) -> None:
    server = CountingServer(b"HTTP/1.1 302 Found\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n")
    assert post(connect(server)).status == 302
    assert server.requests == 1


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nabc",
            id="a chunk of negative size",
        ),
        pytest.param(
            answer_of([{**outputs()[0], "shape": [1, 4], "data": [10**400, 0, 0, 0]}]),
            id="a number that does not fit",
        ),
    ],
)
def test_a_damaged_answer_is_a_server_error(
    recognize: Callable[..., Plates], answer: bytes
) -> None:
    def serve(connection: socket.socket) -> None:
        receive(connection)
        connection.sendall(answer)

    with listening(serve) as url, pytest.raises(ServerError, match=f"{url}: wanted an answer, got"):
        recognize(url)
