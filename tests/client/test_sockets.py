"""Sockets whose timeout is for all operations together."""

import math
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import pytest

from orchestrator.client.sockets import TimedSocket, make_context, open_socket, start_tls
from tests.client.certificates import PemFiles, over_tls
from tests.client.peers import deaf

STREAM = (socket.AF_INET, socket.SOCK_STREAM, 0, "")
PICTURE = b"a picture"


@pytest.fixture
def pair() -> Iterator[tuple[TimedSocket, socket.socket]]:
    """A timed socket, and the plain socket at the other end."""
    here, there = socket.socketpair()
    with TimedSocket(fileno=here.detach()) as timed, there:
        yield timed, there


@contextmanager
def resolving(monkeypatch: pytest.MonkeyPatch, *ports: int) -> Iterator[None]:
    """Make every host name resolve to one address for each port."""
    addresses = [(*STREAM, ("127.0.0.1", port)) for port in ports]
    with monkeypatch.context() as patch:
        patch.setattr(socket, "getaddrinfo", lambda *_, **__: addresses)
        yield


def port_of(listener: socket.socket) -> int:
    return int(listener.getsockname()[1])


@pytest.mark.parametrize("timeouts", [(), (1, None)], ids=["not-set", "none"])
def test_without_a_timeout_there_is_no_end(pair, timeouts: tuple) -> None:
    timed, _ = pair
    for timeout_s in timeouts:
        timed.settimeout(timeout_s)
    assert timed.left_s() == math.inf


OPERATIONS = [
    pytest.param(lambda timed: timed.recv_into(bytearray(1)), id="receive"),
    pytest.param(lambda timed: timed.send(b"x"), id="send"),
    pytest.param(lambda timed: timed.sendall(b"x"), id="send-all"),
]


@pytest.mark.parametrize("operate", OPERATIONS)
def test_an_operation_has_the_rest_of_the_timeout(
    pair, operate: Callable[[TimedSocket], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    timed, there = pair
    there.sendall(b"x")
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now)
    timed.settimeout(10)
    monkeypatch.setattr(time, "monotonic", lambda: now + 7)
    operate(timed)
    assert timed.gettimeout() == pytest.approx(3)
    monkeypatch.setattr(time, "monotonic", lambda: now + 11)
    with pytest.raises(TimeoutError):
        operate(timed)


def test_it_notes_that_a_byte_came(pair) -> None:
    timed, there = pair
    timed.settimeout(20)
    assert not timed.has_received
    there.sendall(b"xy")
    buffer = bytearray(2)
    assert timed.recv_into(buffer, 1) == 1
    assert (timed.has_received, buffer) == (True, b"x\0")
    assert timed.recv_into(buffer) == 1
    there.close()
    timed.has_received = False
    assert timed.recv_into(buffer) == 0
    assert not timed.has_received


def test_an_address_that_refuses_leaves_its_time_to_the_next(monkeypatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener_before:
        refusing = port_of(listener_before)
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        resolving(monkeypatch, refusing, port_of(listener), refusing),
        open_socket("three.addresses", 1, 20) as sock,
    ):
        assert sock.getpeername() == listener.getsockname()
        assert 10 < sock.left_s() <= 20  # not only the share of the address
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_a_silent_address_takes_its_share_of_the_time_alone(monkeypatch) -> None:
    with deaf() as silent_address, socket.create_server(("127.0.0.1", 0)) as listener:
        port = int(silent_address.rpartition(":")[2])
        with (
            resolving(monkeypatch, port, port, port_of(listener)),
            open_socket("three.addresses", 1, 1.2) as sock,
        ):
            assert sock.getpeername() == listener.getsockname()
            assert sock.left_s() <= 0.4  # each of two silent addresses took a third


def test_the_error_is_that_of_the_last_address(monkeypatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        refusing = port_of(listener)
    with (
        resolving(monkeypatch, refusing, refusing),
        pytest.raises(ConnectionRefusedError),
    ):
        open_socket("two.addresses", 1, 20)


def test_a_host_without_addresses_is_an_error(monkeypatch) -> None:
    with resolving(monkeypatch), pytest.raises(OSError, match=r"^no address of a\.host$"):
        open_socket("a.host", 1, 20)


@pytest.mark.parametrize("error", [socket.gaierror("unknown"), UnicodeError("label too long")])
def test_a_host_that_is_not_found_is_an_error(error: Exception, monkeypatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    with pytest.raises(OSError, match=rf"^no address of a\.host \({error}\)$"):
        open_socket("a.host", 1, 20)


def test_looking_up_a_host_ends_in_time(monkeypatch) -> None:
    release = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: release.wait(60))
    with pytest.raises(TimeoutError, match=r"^no address of a\.host in time$"):
        open_socket("a.host", 1, 0.1)
    release.set()


def test_an_ipv6_address_is_looked_up_without_its_brackets(monkeypatch) -> None:
    lookups: list[tuple] = []
    monkeypatch.setattr(
        socket, "getaddrinfo", lambda *arguments, **_: lookups.append(arguments) or []
    )
    with pytest.raises(OSError, match="no address of"):
        open_socket("[::1]", 8000, 20)
    assert lookups == [("::1", 8000)]


def test_tls_has_the_rest_of_the_timeout(certificate: PemFiles, monkeypatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate.chain))
    here, there = socket.socketpair()

    def answer_late() -> None:
        time.sleep(0.2)
        over_tls(lambda connection: connection.sendall(b"hello"), certificate)(there)

    with there, ThreadPoolExecutor(1) as threads:
        sock = TimedSocket(fileno=here.detach())
        sock.settimeout(20)
        future = threads.submit(answer_late)
        with start_tls(sock, make_context(), "localhost") as tls_socket:
            assert 0 < tls_socket.left_s() <= 19.8
            assert tls_socket.recv_into(bytearray(5)) == 5
            assert tls_socket.has_received
        future.result(timeout=20)


def test_a_handshake_that_fails_closes_the_socket(pair, certificate, monkeypatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate.chain))
    timed, there = pair
    timed.settimeout(20)
    there.sendall(b"no TLS\n")
    with pytest.raises(OSError, match=r"(?i)wrong.version"):
        start_tls(timed, make_context(), "localhost")
    there.settimeout(20)
    with suppress(ConnectionResetError):
        while there.recv(65536):  # it times out unless the other end is closed
            pass


UNDER_GEVENT = """
from gevent import monkey
monkey.patch_all()
import sys
from orchestrator.client.sockets import open_socket
with open_socket("127.0.0.1", int(sys.argv[1]), 20) as opened:
    opened.sendall(b"a" * 1_000_000)
"""


def test_a_process_that_gevent_has_patched_sends_whole_bodies() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        command = [sys.executable, "-c", UNDER_GEVENT, str(port_of(listener))]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as sender:
            listener.settimeout(60)
            connection, _ = listener.accept()
            with connection, connection.makefile("rb") as stream:
                assert len(stream.read()) == 1_000_000
            assert sender.stderr
            assert (sender.wait(60), sender.stderr.read()) == (0, "")
