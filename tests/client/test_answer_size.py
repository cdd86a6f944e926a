"""An answer without end is refused before it fills the client's memory."""

import asyncio
import gzip
import socket
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import pytest

from orchestrator.client import PlateClient, inference
from orchestrator.client.aio import AsyncPlateClient
from orchestrator.client.inference import MAX_ANSWER_BYTES
from orchestrator.errors import ServerError
from tests.client.peers import listening, listening_over_grpc, receive

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


def recognize(url: str) -> None:
    with PlateClient(url) as client:
        client.recognize(b"a picture")


async def recognize_async(url: str) -> None:
    async with AsyncPlateClient(url) as client:
        await client.recognize(b"a picture")


@pytest.mark.parametrize("is_async", [False, True])
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
    serve: Callable[[], AbstractContextManager[str]], message: str, is_async: bool, monkeypatch
) -> None:
    monkeypatch.setattr(inference, "MAX_ANSWER_BYTES", 1024 * 1024)
    with serve() as url, pytest.raises(ServerError, match=f"wanted an answer, got .*{message}"):
        asyncio.run(recognize_async(url)) if is_async else recognize(url)
