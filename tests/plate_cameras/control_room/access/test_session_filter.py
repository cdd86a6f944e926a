"""Unknown tokens: one read of the database serves all of them."""

import asyncio
from collections.abc import Sequence

import pytest

from plate_cameras.control_room.access.logins import SessionFilter
from plate_cameras.store.errors import StoreUnavailable
from plate_cameras.store.people.sessions import digest_of

TOKEN, OTHER = "t" * 43, "x" * 43


class HeldSessions:
    """Sessions whose reads can be held, and the filter that reads them."""

    def __init__(self) -> None:
        self.tokens, self.reads = {TOKEN}, 0
        self.goes_on = asyncio.Event()
        self.goes_on.set()
        self.error: Exception | None = None
        self.filter = SessionFilter(self.read)
        self.knows = self.filter.may_be_known

    async def read(self) -> frozenset[bytes]:
        self.reads += 1
        digests = frozenset(map(digest_of, self.tokens))
        await self.goes_on.wait()
        if self.error:
            raise self.error
        return digests

    async def ask(self, tokens: Sequence[str]) -> list[bool]:
        return await asyncio.gather(*map(self.knows, tokens))


async def test_a_flood_of_tokens_of_nobody_costs_one_read() -> None:
    sessions = HeldSessions()
    assert await sessions.ask([f"{number:043}" for number in range(1000)]) == [False] * 1000
    assert sessions.reads == 1


async def test_a_known_token_is_read_once_and_does_not_wait_for_the_flood() -> None:
    sessions = HeldSessions()
    assert await sessions.ask([TOKEN] * 3) == [True] * 3
    sessions.goes_on.clear()
    flood = asyncio.create_task(sessions.ask([OTHER] * 100))
    assert await asyncio.wait_for(sessions.knows(TOKEN), 1)
    assert sessions.reads == 1
    await asyncio.sleep(0)
    assert await asyncio.wait_for(sessions.knows(TOKEN), 1)
    sessions.goes_on.set()
    assert await flood == [False] * 100


async def test_a_session_that_begins_during_a_read_is_found_by_the_next() -> None:
    sessions = HeldSessions()
    sessions.tokens.clear()
    sessions.goes_on.clear()
    early = asyncio.create_task(sessions.knows(OTHER))
    while not sessions.reads:
        await asyncio.sleep(0)
    sessions.tokens.add(TOKEN)
    late = asyncio.create_task(sessions.knows(TOKEN))
    await asyncio.sleep(0)
    sessions.goes_on.set()
    assert [await early, await late] == [False, True]


async def test_a_caller_that_hangs_up_stops_no_other() -> None:
    sessions = HeldSessions()
    sessions.goes_on.clear()
    first, second = (asyncio.create_task(sessions.knows(TOKEN)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.sleep(0)
    sessions.goes_on.set()
    assert await second


async def test_an_ended_session_is_forgotten() -> None:
    sessions = HeldSessions()
    assert await sessions.knows(TOKEN)
    sessions.tokens.clear()
    sessions.filter.forget(TOKEN)
    assert not await sessions.knows(TOKEN)


async def test_a_database_that_is_away_is_told_and_asked_again() -> None:
    sessions = HeldSessions()
    sessions.error = StoreUnavailable("connection refused")
    with pytest.raises(StoreUnavailable, match="refused"):
        await sessions.knows(TOKEN)
    sessions.error = None
    assert await sessions.knows(TOKEN)
