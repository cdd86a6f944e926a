"""A server that asks for a pause gets it; one that asks for too much is not asked again."""

import asyncio
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime

import grpc
import pytest

from orchestrator.client import PlateClient
from orchestrator.client.aio import AsyncPlateClient
from orchestrator.client.error_mapping import parse_retry_after
from orchestrator.errors import Overloaded, PlateError, RequestError
from orchestrator.plates import Plates
from orchestrator.system.retry import Retries
from tests.client.peers import NO_PLATES, listening, receive
from tests.client.peers import said as plainly_said

PICTURE = b"a picture"


def said(status: int, retry_after: str) -> bytes:
    plain = plainly_said(status, b'{"error": "full"}')
    return plain.replace(b"\r\n", b"\r\nRetry-After: %s\r\n" % retry_after.encode(), 1)


@contextmanager
def answering(*answers: bytes) -> Iterator[tuple[str, list[float]]]:
    """Give each call the next answer, from the last one on plates; note when calls came."""
    script, moments = list(answers), []

    def answer(connection: socket.socket) -> None:
        while receive(connection):
            moments.append(time.monotonic())
            connection.sendall(script.pop(0) if script else NO_PLATES)

    with listening(answer) as url:
        yield url, moments


def call(url: str, **options: object) -> Plates:
    with PlateClient(url, **options) as client:
        return client.recognize(PICTURE)


def call_async(url: str, **options: object) -> Plates:
    async def run() -> Plates:
        async with AsyncPlateClient(url, **options) as client:
            return await client.recognize(PICTURE)

    return asyncio.run(run())


both = pytest.mark.parametrize("called", [call, call_async])


@both
@pytest.mark.parametrize("status", [429, 503])
def test_the_pause_is_as_long_as_the_server_asks(called: Callable, status: int) -> None:
    with answering(said(status, "1")) as (url, moments):
        assert called(url, retries=1) == Plates()
    first, second = moments
    assert 1 <= second - first < 10


@both
def test_who_asks_for_more_than_a_calls_time_is_not_asked_again(called: Callable) -> None:
    with answering(said(503, "3")) as (url, moments):
        with pytest.raises(Overloaded, match="full"):
            called(url, retries=5, timeout_s=2)
        assert len(moments) == 1


@both
def test_what_cannot_be_used_is_not_sent_again_whatever_is_said(called: Callable) -> None:
    with answering(said(400, "0")) as (url, moments):
        with pytest.raises(RequestError, match="full"):
            called(url, retries=5)
        assert len(moments) == 1


@pytest.fixture
def over_grpc() -> Iterator[tuple[str, list[float]]]:
    """Refuses every call as the gateway does, and notes when it came."""
    moments: list[float] = []

    def refuse(_: bytes, context: grpc.ServicerContext) -> bytes:
        moments.append(time.monotonic())
        context.set_trailing_metadata((("retry-after", "1"),))
        context.abort(grpc.StatusCode.UNAVAILABLE, "all places are taken; try again later")

    server = grpc.server(ThreadPoolExecutor(1))
    handler = grpc.unary_unary_rpc_method_handler(refuse)
    service = "inference.GRPCInferenceService"
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler(service, {"ModelInfer": handler}),)
    )
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield f"grpc://127.0.0.1:{port}", moments
    server.stop(None)


@both
def test_over_grpc_it_is_the_same(over_grpc, called: Callable) -> None:
    url, moments = over_grpc
    with pytest.raises(Overloaded, match="all places are taken"):
        called(url, retries=1, timeout_s=20)
    first, second = moments
    assert 1 <= second - first < 10


def test_a_pause_that_is_asked_for_is_never_shortened() -> None:
    retries = Retries(9, asked_s=lambda _: 5.0)
    pauses = [retries.pause_after_s(Overloaded("full"), retry) for retry in range(9)]
    assert all(5 <= pause <= 7.5 for pause in pauses)


def test_tasks_pause_while_the_loop_goes_on() -> None:
    told: list[PlateError] = []
    answers = iter([Overloaded("full"), "answer"])

    async def send() -> str:
        answer = next(answers)
        if isinstance(answer, PlateError):
            raise answer
        return answer

    assert asyncio.run(Retries(1, first_s=0.001).call_async(send, told.append)) == "answer"
    assert [str(error) for error in told] == ["full"]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        pytest.param(None, 0, id="none"),
        pytest.param("0", 0, id="at-once"),
        pytest.param("120", 120, id="seconds"),
        pytest.param("-3", 0, id="negative"),
        pytest.param("soon", 0, id="words"),
        pytest.param("Fri, 31 Dec 1999 23:59:59 GMT", 0, id="long-ago"),
    ],
)
def test_a_pause_is_read(text: str | None, seconds: float) -> None:
    assert parse_retry_after(text) == seconds


def test_a_date_is_a_pause_until_then() -> None:
    moment = datetime.now(timezone.utc) + timedelta(seconds=100)
    assert 90 < parse_retry_after(format_datetime(moment, usegmt=True)) <= 100
