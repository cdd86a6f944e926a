"""Finds the size of pictures that comes most often, and prepares a network for it."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable
from typing import Generic, TypeVar

Shape = tuple[int, ...]
Prepared = TypeVar("Prepared")

CALLS = 64
"""Calls with pictures of one size that make it the frequent one."""

logger = logging.getLogger(__name__)


class FrequentSize(Generic[Prepared]):
    """The first size that comes often; cameras send pictures of one size.

    There is one such size, because a network that is prepared for a size takes some 30 MB.

    Args:
        prepare: Prepares the network for the shape of an input. It runs beside the calls, in a
            thread of its own, and may raise RuntimeError.
    """

    def __init__(self, prepare: Callable[[Shape], Prepared]) -> None:
        self._prepare, self._counts, self._lock = prepare, Counter[Shape](), threading.Lock()
        self._thread: threading.Thread | None = None
        self._prepared: dict[Shape, Prepared] = {}

    def find(self, shape: Shape) -> Prepared | None:
        """Count a call; return what is prepared for its shape, if it is the frequent one."""
        if self._thread is None:
            self._count(shape)
        return self._prepared.get(shape)

    def _count(self, shape: Shape) -> None:
        with self._lock:
            self._counts[shape] += 1
            if self._counts[shape] == CALLS and self._thread is None:
                self._thread = threading.Thread(target=self._start, args=(shape,))
                self._thread.start()

    def _start(self, shape: Shape) -> None:
        try:
            self._prepared[shape] = self._prepare(shape)
        except RuntimeError as error:  # the copy for any size does the same work
            logger.warning("a network for %s cannot be prepared: %s", [*shape], error)

    def join(self) -> None:
        """Wait until a preparation that has begun has ended."""
        if self._thread is not None:
            self._thread.join()
