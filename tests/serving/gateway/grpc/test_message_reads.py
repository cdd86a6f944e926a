"""Messages of unknown size: when memory is short, the slowest upload is ended."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from orchestrator.errors import RequestError
from orchestrator.serving.gateway.errors import ServiceFull
from orchestrator.serving.gateway.grpc.message_reads import MessageReads
from orchestrator.serving.gateway.options import MIB, Limits


class Memory:
    """The memory of a process, and messages that arrive when the test sends them."""

    def __init__(self, messages: int) -> None:
        self.bytes, self.trims = 100 * MIB, 0
        limits = Limits(calls=1, body_mb=4, memory_mb=8)
        self.reads = MessageReads(limits, lambda: self.bytes, self.trim)
        loop = asyncio.get_running_loop()
        self.messages = [loop.create_future() for _ in range(messages)]
        self.tasks = [loop.create_task(self.read(message)) for message in self.messages]

    def trim(self) -> None:
        self.trims += 1

    async def read(self, message: asyncio.Future[object]) -> object:
        async def read() -> object:
            return await message

        return await self.reads.read(SimpleNamespace(read=read))

    async def list_ended(self) -> list[bool]:
        await asyncio.sleep(0.25)
        return [task.done() for task in self.tasks]

    async def receive(self) -> list[object]:
        """Let the messages arrive that are still read."""
        _ = [message.set_result(b"late") for message in self.messages if not message.done()]
        return await asyncio.gather(*[task for task in self.tasks if not task.done()])


async def test_a_call_without_a_message_is_rejected() -> None:
    memory = Memory(1)
    memory.messages[0].set_result(None)
    with pytest.raises(RequestError, match="wanted one, got none"):
        await memory.tasks[0]


async def test_the_slowest_is_dropped_when_the_memory_is_short() -> None:
    memory = Memory(4)
    assert await memory.list_ended() == [False] * 4
    memory.bytes += 25 * MIB  # three times the memory for bodies, and more
    with pytest.raises(ServiceFull, match="memory for bodies"):
        await memory.tasks[0]
    memory.bytes -= 25 * MIB
    assert await memory.list_ended() == [True, False, False, False]
    assert memory.trims == 1
    assert await memory.receive() == [b"late"] * 3


async def test_few_messages_may_be_slow_whatever_the_memory() -> None:
    memory = Memory(2)
    memory.bytes += 1000 * MIB
    assert await memory.list_ended() == [False] * 2
    assert await memory.receive() == [b"late"] * 2
