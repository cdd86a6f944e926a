"""Parsing of bodies: small ones in the same process, large ones in another."""

import asyncio
import os
import signal

import pytest

from orchestrator.errors import ServerError
from orchestrator.serving.gateway.http.json_process import SMALL, Parser


def end() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


async def two_processes(size: int) -> tuple[int, int]:
    parser = Parser()
    try:
        return await parser.run(os.getpid, size), os.getpid()
    finally:
        parser.close()


def test_small_ones_are_parsed_in_place() -> None:
    there, here = asyncio.run(two_processes(SMALL))
    assert there == here


def test_large_ones_are_parsed_elsewhere() -> None:
    there, here = asyncio.run(two_processes(SMALL + 1))
    assert there != here


async def after_a_death() -> int:
    parser = Parser()
    try:
        with pytest.raises(ServerError, match="could not be parsed"):
            await parser.run(end, SMALL + 1)
        return await parser.run(os.getpid, SMALL + 1)
    finally:
        parser.close()


def test_a_process_that_died_is_replaced() -> None:
    assert asyncio.run(after_a_death()) != os.getpid()
