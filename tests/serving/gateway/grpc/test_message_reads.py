"""Messages of unknown size: when memory is short, the slowest upload is ended."""

from __future__ import annotations

import asyncio

import pytest

from orchestrator.errors import RequestError
from orchestrator.serving.gateway.errors import BodyTimeout, ServiceFull
from orchestrator.serving.gateway.grpc.message_reads import MessageReads
from orchestrator.serving.gateway.options import MIB, Limits


class Context:
    """A call whose message arrives when the test sends it."""

    def __init__(self) -> None:
        self.message: asyncio.Future[object] = asyncio.get_running_loop().create_future()

    async def read(self) -> object:
        return await self.message


class Memory:
    """The memory of a process, and how often freed memory was given back."""

    def __init__(self) -> None:
        self.bytes, self.trims = 100 * MIB, 0

    def measure(self) -> int:
        return self.bytes

    def trim(self) -> None:
        self.trims += 1


def open_reads(memory: Memory, **limits: float) -> MessageReads:
    known = Limits(calls=1, body_mb=4, memory_mb=8, **limits)  # type: ignore[arg-type]
    return MessageReads(known, memory.measure, memory.trim)


async def test_a_message_is_returned() -> None:
    context = Context()
    context.message.set_result(b"message")
    assert await open_reads(Memory()).read(context) == b"message"


async def test_a_call_without_a_message_is_rejected() -> None:
    context = Context()
    context.message.set_result(None)
    with pytest.raises(RequestError, match="wanted one, got none"):
        await open_reads(Memory()).read(context)


async def test_a_message_that_does_not_come_is_given_up() -> None:
    with pytest.raises(BodyTimeout, match=r"within 0\.01 s"):
        await open_reads(Memory(), body_s=0.01).read(Context())


async def test_the_slowest_is_dropped_when_the_memory_is_short() -> None:
    memory = Memory()
    reads, contexts = open_reads(memory), [Context() for _ in range(4)]
    tasks = [asyncio.create_task(reads.read(context)) for context in contexts]
    await asyncio.sleep(0.25)
    assert not any(task.done() for task in tasks)
    memory.bytes += 25 * MIB  # three times the memory for bodies, and more
    with pytest.raises(ServiceFull, match="memory for bodies"):
        await tasks[0]
    memory.bytes -= 25 * MIB
    await asyncio.sleep(0.25)
    assert [task.done() for task in tasks] == [True, False, False, False]
    assert memory.trims == 1
    for one in contexts[1:]:
        one.message.set_result(b"late")
    assert await asyncio.gather(*tasks[1:]) == [b"late"] * 3


async def test_few_messages_may_be_slow_whatever_the_memory() -> None:
    memory = Memory()
    reads, contexts = open_reads(memory), [Context() for _ in range(2)]
    tasks = [asyncio.create_task(reads.read(context)) for context in contexts]
    memory.bytes += 1000 * MIB
    await asyncio.sleep(0.25)
    assert not any(task.done() for task in tasks)
    for one in contexts:
        one.message.set_result(b"late")
    assert await asyncio.gather(*tasks) == [b"late"] * 2
