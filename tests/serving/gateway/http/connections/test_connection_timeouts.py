"""Timeouts and limits of one HTTP connection, for its first request and the next ones."""

import asyncio
from collections.abc import Callable

import pytest

from orchestrator.serving.gateway.http.protocol import GRACE_S, LINGER_S
from orchestrator.serving.gateway.options import UPLOAD_S, WORK_S
from tests.serving.gateway.http.connections.connection_fakes import Client
from tests.virtual_time import run_virtually

GOODBYE = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\n"
LATER_S = 20.0
BEFORE = pytest.mark.parametrize(
    "before",
    [pytest.param(b"", id="first request"), pytest.param(b"GET / HTTP/1.1\r\n\r\n", id="second")],
)


@pytest.fixture(autouse=True)
def run_coroutine() -> Callable:
    return run_virtually


def get(path: str = "/", header: bytes = b"") -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n".encode() + header + b"\r\n"


def post(body: bytes, size: int) -> bytes:
    return f"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: {size}\r\n\r\n".encode() + body


async def connect(before: bytes, **limits: float) -> tuple[Client, float]:
    """Return a client whose earlier request was answered a while ago, and the time now."""
    client = Client(**limits)
    if before:
        await client.send(before)
        await asyncio.sleep(LATER_S)
        assert client.received.endswith(b"ok")
        client.received = b""
    return client, asyncio.get_running_loop().time()


@BEFORE
async def test_headers_that_do_not_come_are_not_waited_for(before: bytes) -> None:
    client, now = await connect(before, header_s=3, idle_s=1000)
    await client.send(b"GET / HTTP/1.1\r\nX-a: ")
    assert await client.ended_at() == pytest.approx(now + 3, abs=0.1)
    assert client.received.startswith(b"HTTP/1.1 408 ")


@BEFORE
async def test_a_body_that_does_not_come_is_not_waited_for(before: bytes) -> None:
    client, now = await connect(before, header_s=3, body_s=7)
    await client.send(post(b"beginning", 1000))
    assert await client.ended_at() == pytest.approx(now + 7 + GRACE_S, abs=0.1)
    assert client.received == b""


@BEFORE
async def test_a_call_in_work_may_take_longer_than_its_headers_and_body(before: bytes) -> None:
    client, _ = await connect(before, header_s=1, body_s=1)
    await client.send(get("/100"))
    await asyncio.sleep(101)
    assert client.received.startswith(b"HTTP/1.1 200 ")
    assert not client.is_closing()


@BEFORE
async def test_a_body_may_come_in_pieces(before: bytes) -> None:
    client, _ = await connect(before)
    for piece in (post(b"", 4), b"ab", b"cd"):
        await client.send(piece)
    assert client.received.startswith(b"HTTP/1.1 200 ")


@BEFORE
async def test_headers_are_bounded(before: bytes) -> None:
    client, _ = await connect(before, header_kb=8)
    await client.send(get(header=b"X-a: " + b"a" * 9000 + b"\r\n"))
    assert client.received.startswith(b"HTTP/1.1 431 ")
    assert client.is_closing()


@BEFORE
async def test_header_fields_are_counted(before: bytes) -> None:
    client, _ = await connect(before)
    await client.send(get(header=b"a:\r\n" * 99))
    assert client.received.startswith(b"HTTP/1.1 200 ")
    client.received = b""
    await client.send(get(header=b"a:\r\n" * 100))
    assert client.received.startswith(b"HTTP/1.1 431 ")
    assert client.is_closing()


@BEFORE
async def test_a_line_without_an_end_is_bounded(before: bytes) -> None:
    client, _ = await connect(before, header_kb=8)
    await client.send(b"GET /" + b"a" * 9000)
    assert client.received.startswith(b"HTTP/1.1 431 ")


@BEFORE
@pytest.mark.parametrize(
    "offer",
    [
        pytest.param(b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n", id="Java's"),
        pytest.param(b"Connection: upgrade\r\nuPgRaDe:websocket\r\n", id="a web socket"),
    ],
)
async def test_an_offer_of_another_protocol_is_ignored(before: bytes, offer: bytes) -> None:
    client, _ = await connect(before)
    request = b"POST /size HTTP/1.1\r\nHost: localhost\r\n" + offer + b"Content-Length: 7\r\n\r\n"
    for piece in (request[:70], request[70:] + b"1234", b"567" + get()):
        await client.send(piece)
    assert client.received.count(b"HTTP/1.1 200 ") == 2
    assert b"\r\n\r\n07" in client.received


OFFER = b"Upgrade: h2c\r\nConnection: Upgrade\r\n"


@pytest.mark.parametrize("cut", range(1, len(get("/30", OFFER)) + 8))
async def test_requests_in_one_piece_are_parsed_one_by_one(cut: int) -> None:
    client, both = Client(), get("/30", OFFER) + get("/", OFFER)
    await client.send(both[:cut])
    await client.send(both[cut:])
    assert client.received == b""
    await asyncio.sleep(31)
    assert client.received.count(b"HTTP/1.1 200 ") == 2


async def test_each_request_has_the_whole_limit_of_headers() -> None:
    client, _ = await connect(b"", header_kb=8)
    long = get(header=b"X-a: " + b"a" * 5000 + b"\r\n")
    await client.send(long)
    await client.send(long)
    assert client.received.count(b"HTTP/1.1 200 ") == 2


async def test_a_connection_that_is_idle_again_gives_way_to_another() -> None:
    busy, _ = await connect(get())
    await busy.send(get("/100"))
    idle = Client(busy.connections)
    await idle.send(get())
    _ = [Client(busy.connections) for _ in range(9)]
    assert (idle.is_closing(), busy.is_closing()) == (True, False)


async def test_a_request_behind_another_waits_for_its_answer() -> None:
    client, _ = await connect(b"")
    await client.send(get("/5") + get("/5"))
    await asyncio.sleep(6)
    assert client.received.count(b"HTTP/1.1 200 ") == 1
    await asyncio.sleep(5)
    assert client.received.count(b"HTTP/1.1 200 ") == 2


class TestShutdown:
    @BEFORE
    async def test_a_call_in_work_is_answered_and_its_connection_closed(
        self, before: bytes
    ) -> None:
        client, now = await connect(before)
        await client.send(get("/10"))
        client.stop_server()
        assert await client.ended_at() == pytest.approx(now + 10, abs=0.1)
        assert client.received.startswith(b"HTTP/1.1 200 ")
        assert b"connection: close\r\n" in client.received

    async def test_a_call_that_never_ends_is_cut_off_with_an_answer(self) -> None:
        client, now = await connect(b"")
        await client.send(get("/1000"))
        client.stop_server()
        assert await client.ended_at() == pytest.approx(now + WORK_S, abs=0.1)
        assert client.received.startswith(GOODBYE)

    async def test_an_answer_that_never_ends_is_cut_off_without_another(self) -> None:
        client, now = await connect(b"")
        await client.send(get("/begin"))
        client.stop_server()
        assert await client.ended_at() == pytest.approx(now + WORK_S, abs=0.1)
        assert client.received.count(b"HTTP/1.1 ") == 1

    @BEFORE
    async def test_a_slow_upload_is_sent_elsewhere(self, before: bytes) -> None:
        client, now = await connect(before)
        await client.send(post(b"beginning", 1000))
        client.stop_server()
        assert await client.ended_at() == pytest.approx(now + UPLOAD_S, abs=0.1)
        assert client.received.startswith(GOODBYE)

    async def test_an_idle_connection_is_closed_soon(self) -> None:
        client, now = await connect(get())
        client.stop_server()
        assert await client.ended_at() == pytest.approx(now + LINGER_S, abs=0.1)
        assert client.received == b""

    async def test_a_request_that_was_under_way_to_an_idle_connection_is_answered(self) -> None:
        client, _ = await connect(get())
        client.stop_server()
        await client.send(get("/3"))
        await asyncio.sleep(4)
        assert client.received.startswith(b"HTTP/1.1 200 ")
