"""Servers that answer slowly, without end, or not at all."""

import asyncio
import contextlib
import logging.config
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import aiomqtt
import pytest

from plate_cameras.configuration import Camera, Sink
from plate_cameras.sinks import mqtt, webhook
from plate_cameras.sinks.mqtt import MqttReceiver
from plate_cameras.sinks.receiver import DeliveryError, Receiver
from plate_cameras.sinks.webhook import WebhookReceiver
from tests.plate_cameras.sinks.receivers import make_delivery

DELIVERY = make_delivery(1)
CONNACK, STATUS = bytes([0x20, 2, 0, 0]), b"HTTP/1.1 204 No Content\r\n"
Write = Callable[[bytes], Awaitable[None]]
Answer = Callable[[Write], Coroutine[Any, Any, None]]
EARLY_HINTS, SLOW = b"HTTP/1.1 103 Early Hints\r\n\r\n", STATUS + b"x-slow: "
FILLER = b"x" * 65536
LIMIT_S = 0.3


class ScriptServer:
    """A server on this machine that answers each connection by a script.

    Attributes:
        sent_bytes: Bytes of its answers.
        received_bytes: What clients have sent.
        is_closed: Set when a client has closed a connection.
    """

    def __init__(self, answer: Answer) -> None:
        self.answer, self.sent_bytes, self.port, self.connections = answer, 0, 0, 0
        self.received_bytes, self.is_closed = bytearray(), asyncio.Event()

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async def write(content: bytes) -> None:
            writer.write(content)
            await writer.drain()
            self.sent_bytes += len(content)

        self.connections += 1
        answering = asyncio.create_task(self.answer(write))
        try:
            while content := await reader.read(65536):
                self.received_bytes += content
        except ConnectionError:
            pass
        finally:
            self.is_closed.set()
            answering.cancel()
            writer.transport.abort()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()
            self.connections -= 1

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        server = await asyncio.start_server(self.take, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield
        finally:
            server.close()
            await server.wait_closed()
            while self.connections:
                await asyncio.sleep(0.001)


def script(first: bytes, more: bytes = b"", pause_s: float = 0.0) -> Answer:
    """Return an answer that begins with some bytes, and repeats others without end."""

    async def answer(write: Write) -> None:
        await write(first)
        while more:
            await write(more)
            await asyncio.sleep(pause_s)
        await asyncio.Event().wait()

    return answer


def make_webhook(port: int, host: str = "127.0.0.1") -> WebhookReceiver:
    """Return a webhook. Of an address aiohttp takes no cookies, of the name localhost it does."""
    sink = Sink("erp", "webhook", f"http://{host}:{port}/", private_addresses=True)
    return WebhookReceiver(sink, {})


def make_mqtt(port: int) -> MqttReceiver:
    return MqttReceiver(Sink("home", "mqtt", f"mqtt://127.0.0.1:{port}"), [Camera("gate", "")], {})


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook, "TIMEOUT_S", LIMIT_S)
    monkeypatch.setattr(mqtt, "TIMEOUT_S", LIMIT_S)


def send(make: Callable[[int], Receiver], answer: Answer) -> int:
    """Send one event; return the number of bytes that the client accepted."""

    async def run() -> int:
        server = ScriptServer(answer)
        async with server.running():
            receiver = make(server.port)
            try:
                await receiver.send(DELIVERY)
            finally:
                await asyncio.wait_for(server.is_closed.wait(), 20)
                await receiver.close()
        return server.sent_bytes

    return asyncio.run(asyncio.wait_for(run(), 40))


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        pytest.param(script(b""), "no answer within", id="silence"),
        pytest.param(script(SLOW, b"a", 0.01), "no answer within", id="slow-header"),
        pytest.param(script(b"", EARLY_HINTS, 0.01), "no answer within", id="early-hints"),
        pytest.param(
            script(STATUS, b"x-more: 1\r\n" * 1000),
            "cannot post|no answer within",
            id="headers-without-end",
        ),
    ],
)
def test_a_webhook_without_an_answer_is_a_failure_and_is_left(answer: Answer, message: str) -> None:
    with pytest.raises(DeliveryError, match=message):
        send(make_webhook, answer)


def test_the_body_of_an_answer_is_not_read() -> None:
    head = b"HTTP/1.1 200 OK\r\ncontent-length: 999999999999\r\n\r\n"
    assert send(make_webhook, script(head, FILLER)) < 20_000_000


async def test_cookies_are_not_kept() -> None:
    cookies = b"".join(b"set-cookie: c%d=%s\r\n" % (at, b"v" * 4000) for at in range(50))
    server = ScriptServer(script(STATUS + cookies + b"connection: close\r\n\r\n"))
    async with server.running():
        receiver = make_webhook(server.port, "localhost")
        await receiver.send(DELIVERY)
        await receiver.send(DELIVERY)
        await receiver.close()
    content = bytes(server.received_bytes).lower()
    assert content.count(b"post / http") == 2
    assert b"cookie" not in content


@pytest.mark.parametrize("greeting", [b"", CONNACK], ids=["at all", "after its greeting"])
def test_a_broker_that_says_nothing_is_a_failure_and_is_left(greeting: bytes) -> None:
    with pytest.raises(DeliveryError, match="cannot publish: Operation timed out"):
        send(make_mqtt, script(greeting))


async def test_a_broker_that_an_impatient_caller_leaves_is_disconnected() -> None:
    server = ScriptServer(script(CONNACK))
    async with server.running():
        receiver = make_mqtt(server.port)
        sending = asyncio.create_task(receiver.send(DELIVERY))
        await asyncio.sleep(0.05)
        sending.cancel()
        await asyncio.wait_for(server.is_closed.wait(), 20)
        await receiver.close()


def test_a_broker_that_leaves_while_the_library_connects_is_a_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write = aiomqtt.Client._on_socket_register_write

    def lose(client: aiomqtt.Client, library: Any, data: Any, _socket: Any) -> None:
        library._sock_close()
        write(client, library, data, library.socket())

    monkeypatch.setattr(aiomqtt.Client, "_on_socket_register_write", lose)
    with pytest.raises(DeliveryError, match="cannot publish: "):
        send(make_mqtt, script(CONNACK))


async def test_a_broker_that_is_away_is_not_told_by_the_library(
    free_port: int, caplog: pytest.LogCaptureFixture
) -> None:
    logging.config.dictConfig({"version": 1, "disable_existing_loggers": False})
    receiver = make_mqtt(free_port)
    with pytest.raises(DeliveryError, match="cannot publish: "):
        await receiver.send(DELIVERY)
    await receiver.close()
    assert caplog.messages == []


def publish(size: int, qos: int) -> bytes:
    """Return the beginning of a message of this size."""
    digits = [size >> 7 * at & 127 | (128 if size >> 7 * (at + 1) else 0) for at in range(4)]
    length = bytes(digits[: next(at for at, digit in enumerate(digits) if digit < 128) + 1])
    return bytes([0x30 | qos << 1]) + length


@pytest.mark.parametrize(
    "packet",
    [
        pytest.param(publish(200_000_000, 0) + FILLER, id="a huge message"),
        pytest.param(publish(10, 0) + b"\0\1a" + b"x" * 7 + FILLER, id="a small message"),
        pytest.param(publish(10, 2) + b"\0\1a\0\1" + b"x" * 5 + FILLER, id="a message to keep"),
        pytest.param(b"\x40" + publish(200_000_000, 0)[1:] + FILLER, id="a huge receipt"),
        pytest.param(b"\x90" + publish(200_000_000, 0)[1:] + FILLER, id="a huge other answer"),
        pytest.param(b"\x40\2\x7f\1" * 1000, id="receipts without end"),
    ],
)
@pytest.mark.parametrize("greeting", [b"", CONNACK], ids=["at once", "after its greeting"])
def test_a_broker_that_sends_more_than_receipts_is_left(packet: bytes, greeting: bytes) -> None:
    tracemalloc.start()
    with pytest.raises(DeliveryError, match="cannot publish: ") as caught:
        send(make_mqtt, script(greeting, packet))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20_000_000
    assert str(caught.value).isprintable()
