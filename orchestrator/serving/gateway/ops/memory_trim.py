"""Gives freed memory back to the system after a flood.

The allocator keeps freed memory, because the next picture needs it soon. After a flood of headers,
HTTP/2 frames or JSON it would keep hundreds of megabytes for good.

Source: malloc_trim(3); proc(5), /proc/pid/statm.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

EVERY_S = 10.0
"""Shortest time between two trims: each one makes the next pictures some milliseconds slower."""
SPARE_BYTES = 32 * 2**20
"""Memory above the least that was measured from which on a trim is worth it: a third of what a
gateway has at rest."""
FLOOD_BYTES = 96 * 2**20
"""Memory above the least, without that of bodies, from which on a flood is assumed.

The gRPC library limits each frame of a header block, but not the block. It frees the frames of a
closed connection, and the allocator would keep them: more than 100 MB a second."""
QUICK_S = 0.2
"""Shortest time between two trims in a flood. It doubles after each trim that gives little back."""
LOOK_S = 0.1
COPIES = 3
"""Memory of a body, in sizes of the body; see `memory_limits.BODIES`."""
STATM = Path("/proc/self/statm")


@cache
def _statm() -> int:
    """Return the open file, which can be read when the process has no descriptor left."""
    return os.open(STATM, os.O_RDONLY)


def resident_bytes() -> int:
    """Return the resident memory of this process."""
    return int(os.pread(_statm(), 128, 0).split()[1]) * os.sysconf("SC_PAGE_SIZE")


def trim() -> None:
    """Give freed memory back. An allocator other than glibc's keeps it.

    All of it comes back only if the process has one heap; see `launcher.UNLESS_SET`.
    """
    if malloc_trim := getattr(ctypes.CDLL(None), "malloc_trim", None):
        malloc_trim(0)


class MemoryTrim:
    """Trims this process when it holds much more memory than it needed at rest.

    Args:
        measure: Returns the resident memory, bytes.
        trim: Gives freed memory back.
    """

    def __init__(
        self, measure: Callable[[], int] = resident_bytes, trim: Callable[[], None] = trim
    ) -> None:
        self._measure, self._trim = measure, trim
        self._least_bytes = measure()
        self._trimmed_s, self._quick_s = float("-inf"), QUICK_S

    async def watch(self, measure_bodies: Callable[[], int]) -> None:
        """Look for ever.

        Args:
            measure_bodies: Returns the size of all bodies that calls hold now.
        """
        while True:
            self.look(time.monotonic(), COPIES * measure_bodies())
            await asyncio.sleep(LOOK_S)

    def look(self, now_s: float, held_bytes: int = 0) -> None:
        """Return freed memory to the system if it is worth the cost.

        Args:
            now_s: Time of a clock that nobody sets.
            held_bytes: Memory that calls hold.
        """
        spare = self._spare()
        pause_s = self._quick_s if spare - held_bytes >= FLOOD_BYTES else EVERY_S
        if now_s - self._trimmed_s < pause_s or spare < SPARE_BYTES:
            return
        self._trimmed_s = now_s
        self._trim()
        is_useful = self._spare() < spare / 2
        self._quick_s = QUICK_S if is_useful else min(2 * self._quick_s, EVERY_S)

    def _spare(self) -> int:
        """Return the memory above the least that was measured."""
        now = self._measure()
        self._least_bytes = min(self._least_bytes, now)
        return now - self._least_bytes
