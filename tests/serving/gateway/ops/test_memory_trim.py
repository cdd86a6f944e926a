"""Memory that a flood has left, and its return to the system."""

import pytest

from orchestrator.serving.gateway.ops.memory_trim import MemoryTrim, resident_bytes, trim

MIB = 2**20


class Process:
    """A process that holds freed memory until it is trimmed."""

    def __init__(self) -> None:
        self.used, self.freed, self.trims = 100 * MIB, 0, 0

    def measure(self) -> int:
        return self.used + self.freed

    def trim(self) -> None:
        self.trims += 1
        self.freed = 0


@pytest.fixture
def process() -> Process:
    return Process()


@pytest.fixture
def trimming(process: Process) -> MemoryTrim:
    return MemoryTrim(process.measure, process.trim)


def test_memory_that_a_flood_has_freed_is_given_back(
    process: Process, trimming: MemoryTrim
) -> None:
    process.freed = 500 * MIB
    trimming.look(0.0)
    assert (process.trims, process.freed) == (1, 0)


def test_memory_for_the_next_pictures_is_kept(process: Process, trimming: MemoryTrim) -> None:
    process.freed = 63 * MIB
    trimming.look(0.0)
    assert process.trims == 0


def test_memory_that_is_in_use_is_not_looked_for_each_second(
    process: Process, trimming: MemoryTrim
) -> None:
    process.used += 200 * MIB
    for second in range(21):
        trimming.look(float(second))
    assert process.trims == 3


def test_the_least_memory_is_what_counts(process: Process, trimming: MemoryTrim) -> None:
    process.used -= 50 * MIB
    trimming.look(0.0)
    process.used += 64 * MIB
    trimming.look(1.0)
    assert process.trims == 1


def test_this_process_can_be_measured_and_trimmed() -> None:
    assert resident_bytes() > MIB
    trim()
