"""Gives freed memory back to the system after a flood.

The allocator keeps freed memory, because the next picture needs it soon. After a flood of headers,
HTTP/2 frames or JSON it would keep hundreds of megabytes for good.

Source: malloc_trim(3); proc(5), /proc/pid/statm.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from pathlib import Path

EVERY_S = 10.0
"""Least time between two trims: each one makes the next pictures some milliseconds slower."""
SPARE_BYTES = 64 * 2**20
"""Memory above the least that was measured from which on a trim is worth it."""
STATM = Path("/proc/self/statm")


def resident_bytes() -> int:
    """Return the resident memory of this process."""
    return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def trim() -> None:
    """Give freed memory back. An allocator other than glibc's keeps it."""
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
        self._trimmed_s = float("-inf")

    def look(self, now_s: float) -> None:
        """Trim if it is worth it.

        Args:
            now_s: Time of a clock that nobody sets.
        """
        if now_s - self._trimmed_s < EVERY_S or self._spare() < SPARE_BYTES:
            return
        self._trimmed_s = now_s
        self._trim()
        self._spare()

    def _spare(self) -> int:
        """Return the memory above the least that was measured."""
        now = self._measure()
        self._least_bytes = min(self._least_bytes, now)
        return now - self._least_bytes
