"""Timeouts, limits and answers of one HTTP connection, for its first request and the next ones."""

import asyncio
from collections.abc import Callable

import pytest
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from orchestrator.serving.gateway.http.answer_transport import MAX_HELD_BYTES, AnswerTransport
from orchestrator.serving.gateway.http.protocol import GRACE_S, LINGER_S
from orchestrator.serving.gateway.options import UPLOAD_S, WORK_S
from tests.serving.gateway.http.connections.connection_fakes import FakePeer
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


def run_out_of_memory(*_: object) -> None:
    raise MemoryError


async def connect(before: bytes, **limits: float) -> tuple[FakePeer, float]:
    """Return a client whose earlier request was answered a while ago, and the time now."""
    client = FakePeer(**limits)
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
    assert await client.wait_for_end() == pytest.approx(now + 3, abs=0.1)
    assert client.received.startswith(b"HTTP/1.1 408 ")


@BEFORE
async def test_a_body_that_does_not_come_is_not_waited_for(before: bytes) -> None:
    client, now = await connect(before, header_s=3, body_s=7)
    await client.send(post(b"beginning", 1000))
    assert await client.wait_for_end() == pytest.approx(now + 7 + GRACE_S, abs=0.1)
    assert client.received == b""


@BEFORE
async def test_a_call_in_work_may_take_longer_than_its_headers_and_body(before: bytes) -> None:
    client, _ = await connect(before, header_s=1, body_s=1)
    await client.send(get("/100"))
    await asyncio.sleep(101)
    assert client.received.startswith(b"HTTP/1.1 200 ")
    assert not client.is_closing()


@BEFORE
@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        pytest.param(get(header=b"X-a: " + b"a" * 5000 + b"\r\n") * 2, b"200", id="two at once"),
        pytest.param(get(header=b"X-a: " + b"a" * 9000 + b"\r\n"), b"431", id="a long field"),
        pytest.param(b"GET /" + b"a" * 9000, b"431", id="a line without an end"),
        pytest.param(get(header=b"a:\r\n" * 99), b"200", id="many fields"),
        pytest.param(get(header=b"a:\r\n" * 100), b"431", id="too many fields"),
    ],
)
async def test_headers_are_bounded(before: bytes, request_bytes: bytes, status: bytes) -> None:
    client, _ = await connect(before, header_kb=8)
    await client.send(request_bytes)
    assert client.received.startswith(b"HTTP/1.1 " + status)
    assert b"HTTP/1.1 431" not in client.received.replace(b"HTTP/1.1 " + status, b"")
    assert client.is_closing() is (status == b"431")


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
    client, both = FakePeer(), get("/30", OFFER) + get("/", OFFER)
    await client.send(both[:cut])
    await client.send(both[cut:])
    assert client.received == b""
    await asyncio.sleep(31)
    assert client.received.count(b"HTTP/1.1 200 ") == 2


@BEFORE
async def test_a_body_for_which_there_is_no_memory_is_told_so(
    before: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(HttpToolsProtocol, "on_body", run_out_of_memory)
    client, _ = await connect(before)
    await client.send(post(b"beginning", 1000))
    assert client.received == GOODBYE + b"content-length: 0\r\nconnection: close\r\n\r\n"
    assert client.is_closing()


@BEFORE
async def test_what_is_no_http_is_told_so(before: bytes) -> None:
    client, _ = await connect(before)
    await client.send(b"no HTTP\r\n\r\n")
    assert client.received.startswith(b"HTTP/1.1 400 ")
    assert client.is_closing()


async def test_a_connection_that_is_idle_again_gives_way_to_another() -> None:
    busy, _ = await connect(get())
    await busy.send(get("/100"))
    idle = FakePeer(busy.connections)
    await idle.send(get())
    _ = [FakePeer(busy.connections) for _ in range(9)]
    assert (idle.is_closing(), busy.is_closing()) == (True, False)


async def test_a_request_behind_another_waits_for_its_answer() -> None:
    client, _ = await connect(b"")
    await client.send(get("/5") + get("/5"))
    await asyncio.sleep(6)
    assert client.received.count(b"HTTP/1.1 200 ") == 1
    await asyncio.sleep(5)
    assert client.received.count(b"HTTP/1.1 200 ") == 2


@BEFORE
async def test_a_call_in_work_is_answered_at_the_end_and_its_connection_closed(
    before: bytes,
) -> None:
    client, now = await connect(before)
    await client.send(get("/10"))
    client.stop_server()
    assert await client.wait_for_end() == pytest.approx(now + 10, abs=0.1)
    assert client.received.startswith(b"HTTP/1.1 200 ")
    assert b"connection: close\r\n" in client.received


@pytest.mark.parametrize(
    ("before", "request_bytes", "after_s", "answer"),
    [
        pytest.param(b"", get("/1000"), WORK_S, GOODBYE, id="a call that never ends"),
        pytest.param(b"", get("/begin"), WORK_S, b"HTTP/1.1 200 ", id="an answer that never ends"),
        pytest.param(b"", post(b"beginning", 1000), UPLOAD_S, GOODBYE, id="a slow upload"),
        pytest.param(get(), post(b"beginning", 1000), UPLOAD_S, GOODBYE, id="the same later"),
        pytest.param(get(), b"", LINGER_S, b"", id="an idle connection"),
    ],
)
async def test_others_are_cut_off_at_the_end_with_one_answer(
    before: bytes, request_bytes: bytes, after_s: float, answer: bytes
) -> None:
    client, now = await connect(before)
    await client.send(request_bytes)
    client.stop_server()
    assert await client.wait_for_end() == pytest.approx(now + after_s, abs=0.1)
    assert client.received.startswith(answer)
    assert client.received.count(b"HTTP/1.1 ") == bool(answer)


async def test_a_request_that_was_under_way_to_an_idle_connection_is_answered() -> None:
    client, _ = await connect(get())
    client.stop_server()
    await client.send(get("/3"))
    await asyncio.sleep(4)
    assert client.received.startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize("header", [b"", b"Connection: close\r\n"], ids=["kept", "closed"])
async def test_an_answer_is_sent_in_one_piece(header: bytes) -> None:
    client = FakePeer()
    await client.send(get(header=header))
    assert client.received.startswith(b"HTTP/1.1 200 OK")
    assert client.received.endswith(b"ok")
    assert client.writes == 1


async def test_the_beginning_of_a_long_answer_is_sent_before_its_end() -> None:
    client = FakePeer()
    await client.send(get("/begin"))
    assert client.received.startswith(b"HTTP/1.1 200 OK")


async def test_a_transport_holds_no_more_than_it_may_and_sends_nothing_when_it_is_lost() -> None:
    client = FakePeer()
    transport = AnswerTransport(client, client.close, asyncio.get_running_loop().call_soon)
    transport.write(bytes(MAX_HELD_BYTES))
    assert client.writes == 0
    transport.write(b"1")
    assert len(client.received) == MAX_HELD_BYTES + 1
    transport.write(b"2")
    client.ended.set()
    await asyncio.sleep(0.001)
    assert client.writes == 1
