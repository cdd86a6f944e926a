"""One HTTP connection of a real gateway: what its peer may send, and how long it may take."""

import re
import socket
import time
import urllib.error
import urllib.request
from contextlib import suppress

import psutil
import pytest

from orchestrator.gateway.options import Limits
from tests.gateway.conftest import INFER, Running, Start
from tests.waiting import until

MIB = 1024 * 1024
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
LAST = HEALTH.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
NO_PICTURE = b"POST /v1/recognize HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc"


def read_all(caller: socket.socket) -> bytes:
    """Return what comes until the connection is closed."""
    parts = []
    while part := caller.recv(65536):
        parts.append(part)
    return b"".join(parts)


def memory_of(running: Running) -> int:
    (worker,) = running.gateway.workers
    return psutil.Process(worker.process.pid).memory_info().rss


def is_closed(caller: socket.socket) -> bool:
    """Tell whether the other end has closed a connection, without reading from it."""
    caller.setblocking(False)
    try:
        return caller.recv(1, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def test_requests_behind_one_another_are_answered_in_order(begin: Start) -> None:
    with begin().socket() as caller:
        caller.sendall(HEALTH + NO_PICTURE + LAST)
        answers = read_all(caller)
    assert re.findall(rb"HTTP/1\.1 (\d+)", answers) == [b"200", b"400", b"200"]


def test_requests_in_small_pieces_are_answered(begin: Start) -> None:
    with begin().socket() as caller:
        for byte in NO_PICTURE + LAST:
            caller.sendall(bytes([byte]))
        answers = read_all(caller)
    assert answers.count(b"HTTP/1.1 ") == 2


def test_requests_without_end_take_no_memory(begin: Start) -> None:
    running = begin()
    running.ask("GET", "/healthz")
    before = most = memory_of(running)
    left = b"HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n" * 40_000
    with running.socket() as caller:
        caller.settimeout(0.05)
        deadline = time.monotonic() + 60
        while left and time.monotonic() < deadline:
            with suppress(TimeoutError):
                left = left[caller.send(left[:65536]) :]
            with suppress(TimeoutError):
                caller.recv(MIB)
            most = max(most, memory_of(running))
    assert not left
    assert most - before < 30 * MIB


def test_a_second_request_hides_no_hang_up(begin: Start) -> None:
    running = begin()
    running.triton.gate.clear()
    connection = running.send()
    running.triton.asked.acquire(timeout=20)
    connection.sock.sendall(HEALTH)
    connection.close()
    assert running.triton.cancelled.wait(20)


def test_headers_that_come_at_once_are_bounded_too(begin: Start) -> None:
    with begin(Limits(calls=4, header_kb=8)).socket() as caller:
        header = b"X-a: " + b"a" * 900 + b"\r\n"
        caller.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + header * 10 + b"\r\n")
        assert caller.recv(100).startswith(b"HTTP/1.1 431 ")


def test_the_limit_of_headers_holds_for_the_second_request(begin: Start) -> None:
    with begin(Limits(calls=4, header_kb=8)).socket() as caller:
        caller.sendall(HEALTH + b"GET / HTTP/1.1\r\nX-a: " + b"a" * 9000)
        assert b"HTTP/1.1 431 " in read_all(caller)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        pytest.param({"Content-Length": str(40 * MIB)}, 413, id="too large"),
        pytest.param({"Transfer-Encoding": "chunked"}, 411, id="in chunks"),
        pytest.param({"Content-Encoding": "gzip"}, 415, id="compressed"),
    ],
)
def test_a_refusal_reaches_who_still_sends(
    begin: Start, headers: dict[str, str], status: int
) -> None:
    url = f"http://127.0.0.1:{begin().port}{INFER}"
    body = bytes(40 * MIB) if status != 411 else iter([bytes(MIB)] * 40)
    request = urllib.request.Request(url, body, headers)
    with pytest.raises(urllib.error.HTTPError) as raised:
        urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=30)
    with raised.value as answer:
        assert answer.code == status


def test_who_does_not_read_an_answer_is_cut_off(begin: Start) -> None:
    running = begin(Limits(calls=4, write_s=0.5))
    caller = socket.socket()
    caller.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    caller.connect(("127.0.0.1", running.port))
    with caller:
        caller.setblocking(False)
        request = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
        for _ in range(200):
            try:
                caller.send(request)
            except BlockingIOError:
                break
        (worker,) = running.gateway.workers
        until(lambda: not connections_of(worker.process.pid, caller), "an end of the connection")
    assert running.ask("GET", "/healthz")[0] == 200


def connections_of(pid: int, caller: socket.socket) -> list[object]:
    """Return a process's open connections to a socket."""
    port = caller.getsockname()[1]
    every = psutil.Process(pid).net_connections("tcp")
    return [one for one in every if one.raddr and one.raddr.port == port]


def test_who_goes_away_while_its_answer_waits_leaves_no_traceback(begin: Start) -> None:
    running = begin()
    for _ in range(20):
        caller = socket.socket()
        caller.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        caller.connect(("127.0.0.1", running.port))
        caller.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 50)
        caller.close()
    until(lambda: running.ask("GET", "/healthz")[0] == 200, "an answer")
    (worker,) = running.gateway.workers
    assert [line for line in worker.lines if not line.startswith("canary")] == []


def test_an_address_has_so_many_connections_and_others_theirs(begin: Start) -> None:
    running = begin(Limits(calls=4, client_connections=2))
    with (
        running.socket() as first,
        running.socket() as second,
        running.socket("127.0.0.2") as other,
    ):
        with running.socket():
            until(lambda: is_closed(first), "an end of the oldest")
        assert not is_closed(second)
        assert not is_closed(other)


def test_probes_are_answered_whoever_holds_the_callers_port(begin: Start) -> None:
    running = begin(Limits(calls=4, connections=1, client_connections=1))
    running.triton.gate.clear()
    connection = running.send()
    running.triton.asked.acquire(timeout=20)
    assert b"plates_gateway" in running.metrics()
    running.triton.gate.set()
    connection.getresponse().read()
