"""A call ends within its timeout and its memory, whatever the server does."""

import gzip
import itertools
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

import numpy as np
import pytest

from orchestrator.client import PlateClient, inference
from orchestrator.client.inference import MAX_ANSWER_BYTES
from orchestrator.client.sockets import TimedSocket
from orchestrator.errors import ServerError
from orchestrator.plates import Plates
from tests.client.certificates import PemFiles, over_tls
from tests.client.peers import deaf, listening, listening_over_grpc, receive, say_nothing

TIMEOUT_S = 0.2
FAR_LESS_THAN_FOR_EVER_S = 20
LARGE = np.zeros((2000, 4000, 3), np.uint8)
"""More bytes than the buffers of two sockets hold."""


def read_nothing(connection: socket.socket) -> None:
    hung_up.wait()


hung_up = threading.Event()


def dribble(begin: bytes) -> Callable[[socket.socket], None]:
    """Send these bytes, then single bytes until the client disconnects."""

    def answer(connection: socket.socket) -> None:
        receive(connection)
        connection.sendall(begin)
        for _ in itertools.count():
            connection.sendall(b"x")
            time.sleep(0.05)

    return answer


def dribble_a_handshake(connection: socket.socket) -> None:
    connection.sendall(b"\x16\x03\x03\x40\x00\x02\x00\x3f\xfc")  # 16 kB of a TLS server's hello
    for _ in itertools.count():
        connection.sendall(b"x")
        time.sleep(0.05)


def stop_after(begin: bytes) -> Callable[[socket.socket], None]:
    def answer(connection: socket.socket) -> None:
        receive(connection)
        connection.sendall(begin)
        say_nothing(connection)

    return answer


@pytest.fixture(autouse=True)
def _release_silent_servers() -> Iterator[None]:
    hung_up.clear()
    yield
    hung_up.set()


@contextmanager
def soon() -> Iterator[None]:
    start_s = time.monotonic()
    yield
    assert time.monotonic() - start_s < FAR_LESS_THAN_FOR_EVER_S


HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffff\r\n"


@pytest.mark.parametrize(
    "handle",
    [
        pytest.param(say_nothing, id="says-nothing"),
        pytest.param(read_nothing, id="reads-nothing"),
        pytest.param(dribble(b"HTTP/1.1 200 O"), id="dribbles-its-first-line"),
        pytest.param(dribble(HEAD + b"\r\n"), id="dribbles-its-body"),
        pytest.param(dribble(CHUNKED), id="dribbles-a-chunk"),
        pytest.param(dribble(b"HTTP/1.1 200 OK\r\n\r\n"), id="dribbles-without-end"),
        pytest.param(stop_after(HEAD + b"\r\n{"), id="stops-in-its-body"),
    ],
)
def test_an_http_call_ends_in_time(handle) -> None:
    with (
        listening(handle) as url,
        PlateClient(url, timeout_s=TIMEOUT_S) as client,
        soon(),
        pytest.raises(ServerError, match=r"wanted an answer within 0.2 s, got none \(request"),
    ):
        client.recognize(LARGE)


def test_sending_that_takes_all_of_the_time_is_the_same_error(monkeypatch) -> None:
    def send_for_long(connection: TimedSocket, data: bytes, flags: int = 0) -> None:
        time.sleep(2 * TIMEOUT_S)

    monkeypatch.setattr(TimedSocket, "sendall", send_for_long)
    with (
        listening(say_nothing) as url,
        PlateClient(url, timeout_s=TIMEOUT_S) as client,
        pytest.raises(ServerError, match=r"wanted an answer within 0.2 s, got none \(request"),
    ):
        client.recognize(b"a picture")


@pytest.mark.parametrize(
    "handle",
    [
        pytest.param(read_nothing, id="reads-nothing"),
        pytest.param(dribble(HEAD + b"\r\n"), id="dribbles-its-body"),
    ],
)
def test_an_https_call_ends_in_time(handle, certificate: PemFiles, monkeypatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate.chain))
    with (
        listening(over_tls(handle, certificate)) as address,
        PlateClient(f"https://{address}", timeout_s=1) as client,
        soon(),
        pytest.raises(ServerError, match=r"wanted an answer within 1 s, got none \(request"),
    ):
        client.recognize(LARGE)


@pytest.mark.parametrize("handle", [say_nothing, read_nothing, dribble(b""), dribble_a_handshake])
@pytest.mark.parametrize("scheme", ["https", "grpcs", "grpc"])
def test_a_call_ends_in_time_where_the_server_does_not_take_part(scheme: str, handle) -> None:
    with (
        listening(handle) as address,
        PlateClient(f"{scheme}://{address}", timeout_s=TIMEOUT_S) as client,
        soon(),
        pytest.raises(ServerError, match=r"wanted an answer.*, got "),
    ):
        client.recognize(LARGE)


@pytest.mark.parametrize("scheme", ["http", "grpc"])
def test_connecting_ends_in_time_if_the_address_is_silent(scheme: str, recognize) -> None:
    with (
        deaf() as address,
        soon(),
        pytest.raises(ServerError, match=r"wanted an answer within 0.2 s, got "),
    ):
        recognize(f"{scheme}://{address}", timeout_s=TIMEOUT_S)


@pytest.mark.parametrize("scheme", ["http", "grpc"])
def test_is_ready_ends_soon_whatever_the_timeout_of_calls_is(scheme: str, monkeypatch) -> None:
    monkeypatch.setattr("orchestrator.client.base.READY_S", TIMEOUT_S)
    with (
        listening(say_nothing) as address,
        PlateClient(f"{scheme}://{address}", timeout_s=3600) as client,
        soon(),
    ):
        assert not client.is_ready()


OK = b"HTTP/1.1 200 OK\r\n"
BOMB = gzip.compress(bytes(2 * MAX_ANSWER_BYTES), 1)
COMPRESSED = OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(BOMB) + BOMB


def flood(head: bytes) -> Callable[[socket.socket], None]:
    """Send a response that begins so, and has no end."""

    def answer(connection: socket.socket) -> None:
        receive(connection)
        connection.sendall(head)
        while True:
            connection.sendall(b"10000\r\n" + bytes(0x10000) + b"\r\n")

    return answer


def send_bomb(connection: socket.socket) -> None:
    while receive(connection):
        connection.sendall(COMPRESSED)


def send_zeros(_request: bytes, _context: Any) -> bytes:
    return bytes(MAX_ANSWER_BYTES + 1)


@pytest.mark.parametrize(
    ("serve", "message"),
    [
        (partial(listening, flood(OK + b"\r\n")), "one of more than 1 MiB"),
        (partial(listening, flood(OK + b"Transfer-Encoding: chunked\r\n\r\n")), "than 1 MiB"),
        (partial(listening, flood(OK + b"Content-Length: 9999999999\r\n\r\n")), "than 1 MiB"),
        (partial(listening, send_bomb), "what is no answer"),
        (partial(listening_over_grpc, send_zeros), "larger than max"),
    ],
    ids=["to the end", "chunks", "announced", "compressed", "grpc"],
)
def test_an_answer_without_end_is_refused(
    serve: Callable[[], AbstractContextManager[str]],
    message: str,
    recognize: Callable[..., Plates],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(inference, "MAX_ANSWER_BYTES", 1024 * 1024)
    with serve() as url, pytest.raises(ServerError, match=f"wanted an answer, got .*{message}"):
        recognize(url)
