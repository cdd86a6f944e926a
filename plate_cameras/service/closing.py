"""The steps in which a watch ends."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

LOG = logging.getLogger(__name__)


class Closing:
    """Runs the steps of the end, and knows which of them still run.

    Args:
        count_left: Returns the number of events that are not stored.
    """

    def __init__(self, count_left: Callable[[], int]) -> None:
        self._count_left = count_left
        self._pending: tuple[str, ...] = ()  # replaced as a whole: another thread reads it

    def describe(self) -> str:
        """Return what the end waits for, for people."""
        count = self._count_left()
        noun = "event that is" if count == 1 else "events that are"
        return ", ".join([*self._pending, *([f"{count} {noun} not stored"] if count else [])])

    async def run(self, name: str, step: Callable[[], Awaitable[object]]) -> None:
        """Run one step. If it fails, that is told, and the others still run."""
        with self._noting(name):
            try:
                await step()
            except Exception:
                LOG.exception("%s could not be ended", name)

    @contextmanager
    def _noting(self, name: str) -> Iterator[None]:
        self._pending = (*self._pending, name)
        try:
            yield
        finally:
            self._pending = tuple(one for one in self._pending if one != name)
