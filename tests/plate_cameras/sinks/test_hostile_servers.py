"""Servers that answer slowly, without end, or not at all."""

import asyncio
import contextlib
import logging.config
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from plate_cameras.configuration import Camera, Sink
from plate_cameras.sinks import mqtt, webhook
from plate_cameras.sinks.mqtt import MqttReceiver
from plate_cameras.sinks.receiver import DeliveryError, Receiver
from plate_cameras.sinks.webhook import WebhookReceiver
from tests.plate_cameras.sinks.receivers import make_delivery

DELIVERY = make_delivery(1)
CONNACK, STATUS = bytes([0x20, 2, 0, 0]), b"HTTP/1.1 204 No Content\r\n"
Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
LIMIT_S = 0.3


class Server:
    """A server on this machine that answers each connection by a script.

    Attributes:
        sent: Bytes of its answers.
        received: What clients have sent.
        closed: Set when a client has closed a connection.
    """

    def __init__(self, answer: Callable[["Server", asyncio.StreamWriter], Awaitable[None]]) -> None:
        self.answer, self.sent, self.port, self.open = answer, 0, 0, 0
        self.received = bytearray()
        self.closed = asyncio.Event()

    async def write(self, writer: asyncio.StreamWriter, content: bytes) -> None:
        writer.write(content)
        await writer.drain()
        self.sent += len(content)

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open += 1
        answering = asyncio.create_task(self.answer(self, writer))  # type: ignore[arg-type]
        try:
            while content := await reader.read(65536):
                self.received += content
        except ConnectionError:
            pass
        finally:
            self.closed.set()
            answering.cancel()
            writer.transport.abort()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()
            self.open -= 1

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        server = await asyncio.start_server(self.take, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield
        finally:
            server.close()
            await server.wait_closed()
            while self.open:
                await asyncio.sleep(0.001)


async def say_nothing(server: Server, writer: asyncio.StreamWriter) -> None:
    await asyncio.Event().wait()


async def drip_a_header(server: Server, writer: asyncio.StreamWriter) -> None:
    await server.write(writer, STATUS + b"x-slow: ")
    while True:
        await asyncio.sleep(0.01)
        await server.write(writer, b"a")


async def send_headers_without_end(server: Server, writer: asyncio.StreamWriter) -> None:
    await server.write(writer, STATUS)
    while True:
        await server.write(writer, b"x-more: 1\r\n" * 1000)


async def promise_an_answer_without_end(server: Server, writer: asyncio.StreamWriter) -> None:
    while True:
        await server.write(writer, b"HTTP/1.1 103 Early Hints\r\n\r\n")
        await asyncio.sleep(0.01)


async def send_a_body_without_end(server: Server, writer: asyncio.StreamWriter) -> None:
    await server.write(writer, b"HTTP/1.1 200 OK\r\ncontent-length: 999999999999\r\n\r\n")
    while True:
        await server.write(writer, b"x" * 65536)


async def set_many_cookies(server: Server, writer: asyncio.StreamWriter) -> None:
    cookies = b"".join(b"set-cookie: c%d=%s\r\n" % (at, b"v" * 4000) for at in range(50))
    await server.write(writer, STATUS + cookies + b"connection: close\r\n\r\n")


async def accept_and_say_no_more(server: Server, writer: asyncio.StreamWriter) -> None:
    await server.write(writer, CONNACK)
    await asyncio.Event().wait()


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
        server = Server(answer)  # type: ignore[arg-type]
        async with server.running():
            receiver = make(server.port)
            try:
                await receiver.send(DELIVERY)
            finally:
                await asyncio.wait_for(server.closed.wait(), 20)
                await receiver.close()
        return server.sent

    return asyncio.run(asyncio.wait_for(run(), 40))


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        pytest.param(say_nothing, "no answer within", id="silence"),
        pytest.param(drip_a_header, "no answer within", id="slow-header"),
        pytest.param(promise_an_answer_without_end, "no answer within", id="early-hints"),
        pytest.param(
            send_headers_without_end, "cannot post|no answer within", id="headers-without-end"
        ),
    ],
)
def test_a_webhook_without_an_answer_is_a_failure_and_is_left(answer: Answer, message: str) -> None:
    with pytest.raises(DeliveryError, match=message):
        send(make_webhook, answer)


def test_the_body_of_an_answer_is_not_read() -> None:
    assert send(make_webhook, send_a_body_without_end) < 20_000_000


async def test_cookies_are_not_kept() -> None:
    server = Server(set_many_cookies)  # type: ignore[arg-type]
    async with server.running():
        receiver = make_webhook(server.port, "localhost")
        await receiver.send(DELIVERY)
        await receiver.send(DELIVERY)
        await receiver.close()
    received = bytes(server.received).lower()
    assert received.count(b"post / http") == 2
    assert b"cookie" not in received


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(say_nothing, id="before-the-connection"),
        pytest.param(accept_and_say_no_more, id="before-the-receipt"),
    ],
)
def test_a_broker_that_says_nothing_is_a_failure_and_is_left(answer: Answer) -> None:
    with pytest.raises(DeliveryError, match="cannot publish: Operation timed out"):
        send(make_mqtt, answer)


async def test_a_broker_that_an_impatient_caller_leaves_is_disconnected() -> None:
    server = Server(accept_and_say_no_more)  # type: ignore[arg-type]
    async with server.running():
        receiver = make_mqtt(server.port)
        sending = asyncio.create_task(receiver.send(DELIVERY))
        await asyncio.sleep(0.05)
        sending.cancel()
        await asyncio.wait_for(server.closed.wait(), 20)
        await receiver.close()


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
    length = bytes(digits[: next(at for at, one in enumerate(digits) if one < 128) + 1])
    return bytes([0x30 | qos << 1]) + length


@pytest.mark.parametrize(
    "packet",
    [
        pytest.param(publish(200_000_000, 0), id="a huge message"),
        pytest.param(publish(10, 0) + b"\0\1a" + b"x" * 7, id="a small message"),
        pytest.param(publish(10, 2) + b"\0\1a\0\1" + b"x" * 5, id="a message to keep"),
        pytest.param(b"\x40" + publish(200_000_000, 0)[1:], id="a huge receipt"),
        pytest.param(b"\x90" + publish(200_000_000, 0)[1:], id="a huge answer to nothing"),
    ],
)
@pytest.mark.parametrize("greeting", [b"", CONNACK], ids=["at once", "after its greeting"])
def test_a_broker_that_sends_more_than_receipts_is_left(packet: bytes, greeting: bytes) -> None:
    async def flood(server: Server, writer: asyncio.StreamWriter) -> None:
        await server.write(writer, greeting)
        while True:
            await server.write(writer, packet + b"x" * 65536)

    tracemalloc.start()
    with pytest.raises(DeliveryError, match="cannot publish: ") as caught:
        send(make_mqtt, flood)  # type: ignore[arg-type]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20_000_000
    assert str(caught.value).isprintable()


def test_a_broker_that_sends_receipts_without_end_is_left() -> None:
    async def flood(server: Server, writer: asyncio.StreamWriter) -> None:
        await server.write(writer, CONNACK)
        while True:
            await server.write(writer, b"\x40\2\x7f\1" * 1000)

    with pytest.raises(DeliveryError, match="cannot publish: "):
        send(make_mqtt, flood)  # type: ignore[arg-type]
