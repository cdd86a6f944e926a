"""Retries after a response with `Retry-After`."""

import asyncio
import time
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime

import pytest

from orchestrator import (
    AsyncPlateClient,
    ErrorResponse,
    FakeTransport,
    Overloaded,
    PlateClient,
    PlateError,
    Plates,
    RequestError,
    ServerError,
)
from orchestrator.client.error_mapping import parse_retry_after
from orchestrator.host.retry import Retries

PICTURE = b"a picture"


def full(retry_after_s: float) -> Overloaded:
    return Overloaded("full", response=ErrorResponse(503, retry_after_s=retry_after_s))


def call(transport: FakeTransport, **options: object) -> Plates:
    with PlateClient(transport=transport, **options) as client:
        return client.recognize(PICTURE)


def call_async(transport: FakeTransport, **options: object) -> Plates:
    async def run() -> Plates:
        async with AsyncPlateClient(transport=transport, **options) as client:
            return await client.recognize(PICTURE)

    return asyncio.run(run())


both = pytest.mark.parametrize("recognize", [call, call_async])


@both
def test_a_retry_waits_as_long_as_the_server_asks(recognize: Callable) -> None:
    transport = FakeTransport(full(0.3), Plates())
    began = time.monotonic()
    assert recognize(transport, retries=1) == Plates()
    assert time.monotonic() - began >= 0.3
    assert len(transport.requests) == 2


@both
def test_a_pause_that_is_longer_than_the_timeout_ends_the_retries(recognize: Callable) -> None:
    transport = FakeTransport(full(3))
    with pytest.raises(Overloaded, match="full"):
        recognize(transport, retries=5, timeout_s=2)
    assert len(transport.requests) == 1


@both
def test_a_request_error_is_not_retried_even_if_the_server_asks(recognize: Callable) -> None:
    transport = FakeTransport(RequestError("not so", response=ErrorResponse(400, None, 0.0)))
    with pytest.raises(RequestError, match="not so"):
        recognize(transport, retries=5)
    assert len(transport.requests) == 1


@both
def test_retries_end_with_the_last_error(recognize: Callable) -> None:
    transport = FakeTransport(Overloaded("full"), ServerError("gone"))
    with pytest.raises(ServerError, match="gone"):
        recognize(transport, retries=1)
    assert len(transport.requests) == 2


def test_a_pause_is_never_shorter_than_the_server_asks() -> None:
    pauses = [Retries(9).pause_after_s(full(5), retry) for retry in range(9)]
    assert all(5 <= pause <= 7.5 for pause in pauses)


def test_a_pause_of_asyncio_is_awaited() -> None:
    errors: list[PlateError] = []
    answers = iter([Overloaded("full"), "answer"])
    waited: list[str] = []

    async def send() -> str:
        answer = next(answers)
        if isinstance(answer, PlateError):
            raise answer
        return answer

    async def sleep(_: float) -> None:
        await asyncio.sleep(0)
        waited.append("a turn of the event loop")

    assert asyncio.run(Retries(1, sleep=sleep).call_async(send, errors.append)) == "answer"
    assert [str(error) for error in errors] == ["full"]
    assert waited == ["a turn of the event loop"]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        pytest.param(None, None, id="none"),
        pytest.param("0", 0, id="at-once"),
        pytest.param("120", 120, id="seconds"),
        pytest.param("-3", None, id="negative"),
        pytest.param("soon", None, id="words"),
        pytest.param("Fri, 31 Dec 1999 23:59:59 GMT", 0, id="long-ago"),
        pytest.param("Fri, 31 Dec 1999 23:59:59 -0000", 0, id="long-ago-in-utc"),
    ],
)
def test_retry_after_is_parsed(text: str | None, seconds: float | None) -> None:
    assert parse_retry_after(text) == seconds


def test_a_date_is_the_time_until_then() -> None:
    moment = datetime.now(timezone.utc) + timedelta(seconds=100)
    assert 90 < parse_retry_after(format_datetime(moment, usegmt=True)) <= 100
