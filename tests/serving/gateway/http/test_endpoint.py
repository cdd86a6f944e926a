"""Headers that describe a body before it is read, and the process that parses a large one."""

import asyncio
import os
import signal

import pytest

from orchestrator.errors import ServerError
from orchestrator.serving.gateway.errors import (
    BodyTooLarge,
    GatewayError,
    LengthRequired,
    UnsupportedMedia,
)
from orchestrator.serving.gateway.http.endpoint import announced_size
from orchestrator.serving.gateway.http.json_process import SMALL, Parser


@pytest.mark.parametrize("size", ["0", "1", "100"])
def test_a_size_within_the_limit_is_taken(size: str) -> None:
    headers = {"content-length": size, "content-encoding": "identity"}
    assert announced_size(headers, max_bytes=100) == int(size)


@pytest.mark.parametrize(
    ("length", "headers", "kind"),
    [
        (None, {}, LengthRequired),
        ("", {}, LengthRequired),
        ("ten", {}, LengthRequired),
        ("-1", {}, LengthRequired),
        ("٣", {}, LengthRequired),
        ("9" * 30, {}, LengthRequired),
        ("101", {}, BodyTooLarge),
        ("5", {"transfer-encoding": "chunked"}, LengthRequired),
        ("5", {"content-encoding": "gzip"}, UnsupportedMedia),
        ("5", {"content-type": "image/jpeg" + ";" * 8192}, UnsupportedMedia),
    ],
)
def test_what_is_not_announced_is_refused(
    length: str | None, headers: dict[str, str], kind: type[GatewayError]
) -> None:
    length_header = {} if length is None else {"content-length": length}
    with pytest.raises(kind, match="wanted"):
        announced_size(length_header | headers, max_bytes=100)


def end() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_large_bodies_are_parsed_in_another_process_which_is_replaced_when_it_dies() -> None:
    async def run() -> tuple[int, int]:
        Parser().close()  # no process was needed
        parser = Parser()
        try:
            with pytest.raises(ServerError, match="could not be parsed"):
                await parser.run(end, SMALL + 1)
            return await parser.run(os.getpid, SMALL), await parser.run(os.getpid, SMALL + 1)
        finally:
            parser.close()

    here, elsewhere = asyncio.run(run())
    assert (here == os.getpid(), elsewhere == os.getpid()) == (True, False)


def test_a_body_is_parsed_although_the_other_process_died_before() -> None:
    async def run() -> tuple[int, int]:
        parser = Parser()
        try:
            first = await parser.run(os.getpid, SMALL + 1)
            os.kill(first, signal.SIGKILL)
            return first, await parser.run(os.getpid, SMALL + 1)
        finally:
            parser.close()

    first, second = asyncio.run(run())
    assert first != second
