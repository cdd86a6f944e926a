"""Memory after a burst of calls, and its return to the system."""

import asyncio
import errno
import io
import os
import subprocess
import sys

import pytest

from orchestrator.host.resources import keep_freed
from orchestrator.serving.gateway.launcher import UNLESS_SET
from orchestrator.serving.gateway.ops.memory_trim import MemoryTrim, resident_bytes, trim

MIB = 2**20
FLOOD = """
import threading
from orchestrator.serving.gateway.ops.memory_trim import resident_bytes, trim

def flood(size):
    frames = [bytearray(size) for _ in range(50 * 2**20 // size)]

def run(*sizes):
    threads = [threading.Thread(target=flood, args=(size,)) for size in sizes]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]

run(1000)
trim()
before = resident_bytes()
run(1000, 3000, 10000, 60000)
trim()
print(resident_bytes() / before)
"""


class Process:
    """A process that holds freed memory until it is trimmed."""

    def __init__(self) -> None:
        self.used_bytes, self.freed_bytes, self.trims = 100 * MIB, 0, 0
        self.trimming = MemoryTrim(self.measure, self.trim)

    def measure(self) -> int:
        return self.used_bytes + self.freed_bytes

    def trim(self) -> None:
        self.trims += 1
        self.freed_bytes = 0


@pytest.fixture
def process() -> Process:
    return Process()


async def test_memory_that_a_flood_has_freed_is_given_back(process: Process) -> None:
    process.freed_bytes = 500 * MIB
    watch = asyncio.create_task(process.trimming.watch(lambda: 0))
    await asyncio.sleep(0)
    assert (process.trims, process.freed_bytes) == (1, 0)
    watch.cancel()


def test_memory_above_the_least_is_kept_for_the_next_pictures(process: Process) -> None:
    process.freed_bytes = 31 * MIB
    process.trimming.look(0.0)
    assert process.trims == 0
    process.freed_bytes, process.used_bytes = 0, 50 * MIB
    process.trimming.look(1.0)
    process.used_bytes += 32 * MIB
    process.trimming.look(2.0)
    assert process.trims == 1


def test_memory_that_is_in_use_is_looked_for_more_and_more_rarely(process: Process) -> None:
    process.used_bytes += 200 * MIB
    for tenth in range(600):
        process.trimming.look(tenth / 10)
    assert process.trims == 10  # after 0, 0.4, 1.2, 2.8, 6 and 12.4 s, then each 10 s


def test_a_flood_never_has_much_memory(process: Process) -> None:
    highest = 0
    for tenth in range(100):
        process.freed_bytes += 15 * MIB
        highest = max(highest, process.freed_bytes)
        process.trimming.look(tenth / 10)
    assert highest < 150 * MIB
    process.freed_bytes = 0
    process.trimming.look(10.0)
    assert process.measure() == 100 * MIB


def test_bodies_of_calls_are_no_flood(process: Process) -> None:
    process.trimming.look(0.0)
    process.freed_bytes, process.trims = 140 * MIB, 0
    for tenth in range(101):
        process.trimming.look(tenth / 10, held_bytes=50 * MIB)
        process.freed_bytes = 140 * MIB
    assert process.trims == 2


def test_memory_that_several_threads_have_freed_comes_back() -> None:
    trim()  # in this process too
    assert resident_bytes() > MIB
    environment = {**os.environ, **UNLESS_SET, **keep_freed(64 * 1024 * MIB)}
    flood = [sys.executable, "-c", FLOOD]
    answer = subprocess.run(flood, env=environment, capture_output=True, text=True, check=True)
    assert float(answer.stdout) < 1.5


def test_memory_is_measured_when_no_descriptor_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look that fails would end the gateway, as any task of its own that fails does."""
    trimming = MemoryTrim(trim=lambda: None)

    def refuse(*_arguments: object) -> int:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(os, "open", refuse)
    monkeypatch.setattr(io, "open", refuse)
    trimming.look(0.0)
