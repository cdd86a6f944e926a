"""Reads the messages of calls over gRPC, whose sizes are not known before their ends.

The gRPC library holds the bytes that have arrived, and tells nobody how many they are. So the
process's memory tells when they are too many; then the slowest reads lose their places.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any
from weakref import WeakSet

from orchestrator.errors import RequestError
from orchestrator.serving.gateway.errors import LEAVING, RETRY_AFTER_S, BodyTimeout, ServiceFull
from orchestrator.serving.gateway.ops.memory_trim import resident_bytes, trim
from orchestrator.serving.gateway.options import UPLOAD_S, Limits

LOOK_S = 0.1
"""Time between two looks at the memory, while messages could fill it."""
WAITING_COPIES = 3
"""Memory of a body while it waits, in sizes of the body; see `memory_limits.BODIES`."""


class MessageReads:
    """The messages that are being read.

    Args:
        limits: Limits of the gateway.
        measure: Returns the resident memory of this process, bytes.
        trim: Gives freed memory back to the system.
    """

    def __init__(
        self,
        limits: Limits,
        measure: Callable[[], int] = resident_bytes,
        trim: Callable[[], None] = trim,
    ) -> None:
        self._limits, self._measure, self._trim = limits, measure, trim
        self._reads: dict[asyncio.Task[Any], None] = {}  # the one that began first comes first
        self._dropped_tasks = WeakSet[asyncio.Task[Any]]()
        self._idle_bytes = measure()
        self._timer: asyncio.TimerHandle | None = None

    async def read(self, context: Any) -> bytes:
        """Return the single message of a call.

        Raises:
            BodyTimeout: It did not come in time.
            ServiceFull: It was slow while the memory was short, or the process is to end.
            RequestError: There is none.
        """
        task = asyncio.ensure_future(context.read())
        self._reads[task] = None
        self._look_later()
        try:
            done, _ = await asyncio.wait([task], timeout=self._limits.body_s)
        finally:
            self._reads.pop(task, None)
            task.cancel()
        if not done:
            raise BodyTimeout(f"message: wanted within {self._limits.body_s:g} s, got a part")
        if task in self._dropped_tasks:
            raise ServiceFull("the memory for bodies is used up; try again later", RETRY_AFTER_S)
        if task.cancelled():
            raise ServiceFull(LEAVING.message, LEAVING.retry_after_s)
        message = task.result()
        if not isinstance(message, bytes):
            raise RequestError("message: wanted one, got none")
        return message

    def leave(self) -> None:
        """Stop waiting for messages after `UPLOAD_S` seconds, because the process is to end."""
        asyncio.get_running_loop().call_later(UPLOAD_S, self._stop)

    def _stop(self) -> None:
        for task in self._reads:
            task.cancel()

    def _look_later(self) -> None:
        """Look at the memory soon, if the messages could fill it."""
        could_fill = len(self._reads) * self._limits.body_bytes > self._limits.memory_bytes
        if could_fill and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(LOOK_S, self._look)

    def _look(self) -> None:
        """Drop the slowest read if the memory is short."""
        self._timer = None
        used_bytes = self._measure()
        self._idle_bytes = min(self._idle_bytes, used_bytes)
        if used_bytes - self._idle_bytes > WAITING_COPIES * self._limits.memory_bytes:
            self._drop_slowest()
        self._look_later()

    def _drop_slowest(self) -> None:
        task = next(iter(self._reads), None)
        if task is not None:
            del self._reads[task]
            self._dropped_tasks.add(task)
            task.cancel()
            asyncio.get_running_loop().call_later(LOOK_S / 2, self._trim)
