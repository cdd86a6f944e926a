"""One HTTP connection of a real gateway: permitted requests, and timeouts."""

import socket
import time
from contextlib import suppress

import psutil

from orchestrator.serving.gateway.options import Limits
from tests.serving.gateway.conftest import Running, Start
from tests.waiting import until

MIB = 1024 * 1024


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


def test_a_client_that_does_not_read_its_answer_is_cut_off(begin: Start) -> None:
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
