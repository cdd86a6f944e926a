"""Each answer is one write, delayed by at most one turn of the event loop."""

import asyncio
from collections.abc import Callable

import pytest

from orchestrator.serving.gateway.http.answer_transport import MAX_HELD_BYTES, AnswerTransport
from tests.serving.gateway.http.connections.connection_fakes import Client
from tests.virtual_time import run_virtually

GET = b"GET /%s HTTP/1.1\r\nHost: localhost\r\n%s\r\n"


@pytest.fixture(autouse=True)
def run_coroutine() -> Callable:
    return run_virtually


@pytest.mark.parametrize("header", [b"", b"Connection: close\r\n"], ids=["kept", "closed"])
async def test_an_answer_is_sent_in_one_piece(header: bytes) -> None:
    client = Client()
    await client.send(GET % (b"", header))
    assert client.received.startswith(b"HTTP/1.1 200 OK")
    assert client.received.endswith(b"ok")
    assert client.writes == 1


async def test_the_beginning_of_a_long_answer_is_sent_before_its_end() -> None:
    client = Client()
    await client.send(GET % (b"begin", b""))
    assert client.received.startswith(b"HTTP/1.1 200 OK")


async def test_no_more_is_held_than_may_be() -> None:
    client = Client()
    transport = AnswerTransport(client, client.close, asyncio.get_running_loop().call_soon)
    transport.write(bytes(MAX_HELD_BYTES))
    assert client.writes == 0
    transport.write(b"1")
    assert len(client.received) == MAX_HELD_BYTES + 1


async def test_nothing_is_sent_on_a_connection_that_was_lost() -> None:
    client = Client()
    transport = AnswerTransport(client, client.close, asyncio.get_running_loop().call_soon)
    transport.write(b"1")
    client.ended.set()
    await asyncio.sleep(0.001)
    assert client.writes == 0
