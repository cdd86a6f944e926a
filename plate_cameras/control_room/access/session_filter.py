"""Tells which tokens may belong to a session, so that a flood of others costs nearly nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from plate_cameras.clocks import steady_s
from plate_cameras.store.people.sessions import digest_of

PAUSE_S = 0.25
"""Shortest time between two looks into the database, however many unknown tokens come."""


class SessionFilter:
    """The digests of all sessions, read again when an unknown token comes.

    All unknown tokens wait for the same look, which begins after they came. So a token of a session
    is never taken for an unknown one, also if another process has begun the session just now.
    """

    def __init__(
        self,
        read: Callable[[], Awaitable[frozenset[bytes]]],
        clock: Callable[[], float] = steady_s,
    ) -> None:
        self._read, self._clock = read, clock
        self._known: frozenset[bytes] = frozenset()
        self._looked_s = float("-inf")
        self._next: asyncio.Task[None] | None = None
        self._reading = asyncio.Lock()

    async def may_be_known(self, token: str) -> bool:
        """Tell whether a token may belong to a session.

        Raises:
            StoreError: The database cannot be used, and the token was not known before.
        """
        digest = digest_of(token)
        if digest not in self._known:
            await self._look()
        return digest in self._known

    def forget(self, token: str) -> None:
        """Note that the session of a token has ended."""
        self._known -= {digest_of(token)}

    async def _look(self) -> None:
        if self._next is None:
            self._next = asyncio.create_task(self._look_soon())
            self._next.add_done_callback(_retrieve)
        await asyncio.shield(self._next)  # others wait for it, too

    async def _look_soon(self) -> None:
        try:
            async with self._reading:
                await asyncio.sleep(max(0.0, self._looked_s + PAUSE_S - self._clock()))
                self._next = None  # whoever comes from now on waits for another look
                self._looked_s = self._clock()
                self._known = await self._read()
        finally:
            if self._next is asyncio.current_task():
                self._next = None


def _retrieve(task: asyncio.Task[None]) -> None:
    """Take the error of a look whose callers have all hung up."""
    if not task.cancelled():
        task.exception()
