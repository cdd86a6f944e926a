"""Unknown tokens: one read of the database serves all of them."""

import asyncio
from collections.abc import Sequence

import pytest

from plate_cameras.control_room.access.logins import SessionFilter
from plate_cameras.store.errors import StoreUnavailable
from plate_cameras.store.people.sessions import digest_of

TOKEN = "t" * 43


class Sessions:
    """Sessions whose reads can be held."""

    def __init__(self, *tokens: str) -> None:
        self.tokens = {*tokens}
        self.reads = 0
        self.goes_on = asyncio.Event()
        self.goes_on.set()
        self.error: Exception | None = None

    async def read(self) -> frozenset[bytes]:
        self.reads += 1
        known = frozenset(map(digest_of, self.tokens))
        await self.goes_on.wait()
        if self.error:
            raise self.error
        return known


async def ask(filtered: SessionFilter, tokens: Sequence[str]) -> list[bool]:
    return await asyncio.gather(*map(filtered.may_be_known, tokens))


async def test_a_token_of_a_session_is_known_and_read_once() -> None:
    sessions = Sessions(TOKEN)
    filtered = SessionFilter(sessions.read)
    assert await ask(filtered, [TOKEN] * 3) == [True] * 3
    assert await ask(filtered, [TOKEN]) == [True]
    assert sessions.reads == 1


async def test_a_flood_of_tokens_of_nobody_costs_one_read() -> None:
    sessions = Sessions(TOKEN)
    filtered = SessionFilter(sessions.read)
    assert await ask(filtered, [f"{number:043}" for number in range(1000)]) == [False] * 1000
    assert sessions.reads == 1


async def test_a_known_token_does_not_wait_for_the_flood() -> None:
    sessions = Sessions(TOKEN)
    filtered = SessionFilter(sessions.read)
    await filtered.may_be_known(TOKEN)
    sessions.goes_on.clear()
    flood = asyncio.create_task(ask(filtered, ["x" * 43] * 100))
    await asyncio.sleep(0)
    assert await asyncio.wait_for(filtered.may_be_known(TOKEN), 1)
    sessions.goes_on.set()
    assert await flood == [False] * 100


async def test_a_session_that_begins_during_a_read_is_found_by_the_next() -> None:
    sessions = Sessions()
    filtered = SessionFilter(sessions.read)
    sessions.goes_on.clear()
    early = asyncio.create_task(filtered.may_be_known("x" * 43))
    while not sessions.reads:
        await asyncio.sleep(0)
    sessions.tokens.add(TOKEN)
    late = asyncio.create_task(filtered.may_be_known(TOKEN))
    await asyncio.sleep(0)
    sessions.goes_on.set()
    assert [await early, await late] == [False, True]


async def test_a_caller_that_hangs_up_stops_no_other() -> None:
    sessions = Sessions(TOKEN)
    filtered = SessionFilter(sessions.read)
    sessions.goes_on.clear()
    gone, stays = (asyncio.create_task(filtered.may_be_known(TOKEN)) for _ in range(2))
    await asyncio.sleep(0)
    gone.cancel()
    await asyncio.sleep(0)
    sessions.goes_on.set()
    assert await stays


async def test_an_ended_session_is_forgotten() -> None:
    sessions = Sessions(TOKEN)
    filtered = SessionFilter(sessions.read)
    await filtered.may_be_known(TOKEN)
    sessions.tokens.clear()
    filtered.forget(TOKEN)
    assert not await filtered.may_be_known(TOKEN)


async def test_a_database_that_is_away_is_told_and_asked_again() -> None:
    sessions = Sessions(TOKEN)
    filtered = SessionFilter(sessions.read)
    sessions.error = StoreUnavailable("connection refused")
    with pytest.raises(StoreUnavailable, match="refused"):
        await filtered.may_be_known(TOKEN)
    sessions.error = None
    assert await filtered.may_be_known(TOKEN)
