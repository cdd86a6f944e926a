"""People before the pages: each holds a stream of events open, and searches every few seconds."""

from __future__ import annotations

import asyncio
import itertools
import re
import time
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import aiohttp

SEARCH_EVERY_S = 2.0
EVENT = re.compile(rb'event: pass\.(\w+)\ndata: [^\n]*?"id":"([^"]+)"')
SEARCHES = {
    "newest passes": "/v1/passes",
    "camera": "/v1/passes?camera=camera%200007",
    "text": "/v1/passes?text=A123BC77",
    "part": "/v1/passes?part=23BC",
    "one edit": "/v1/passes?text=A123BC77&edits=1",
    "counts by hour": "/v1/passes/counts?by=hour",
    "counts by camera": "/v1/passes/counts?by=camera",
}
Key = tuple[str, str]


@dataclass
class People:
    """People and what they got.

    Attributes:
        room: Address of the control room.
        count: Number of people.
        came_s: Unix time of each event by its pass and kind, for each person.
        calls_ms: Times of calls by their kind.
        refused: Answers other than 200, by kind.
        reconnected: Streams that ended and were opened again.
    """

    room: str
    count: int
    came_s: list[dict[Key, float]] = field(default_factory=list)
    calls_ms: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    refused: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    reconnected: int = 0
    _open: int = 0

    async def run(self) -> None:
        """Listen and search until the task is cancelled."""
        self.came_s = [{} for _ in range(self.count)]
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=10)
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(self.room, connector=connector, timeout=timeout) as http:
            listening = [self._listen(http, came_s) for came_s in self.came_s]
            searching = [self._search(http, number) for number in range(self.count)]
            await asyncio.gather(*listening, *searching)

    async def wait_until_listening(self) -> None:
        """Return when all streams are open."""
        while self._open < self.count:
            await asyncio.sleep(0.05)

    async def _listen(self, http: aiohttp.ClientSession, came_s: dict[Key, float]) -> None:
        """Hold a stream open; connect again where it ended, as a browser does."""
        last_id = b""
        while True:
            headers = {"last-event-id": last_id.decode()} if last_id else {}
            async with http.get("/v1/events", headers=headers) as answer:
                answer.raise_for_status()
                rest = await answer.content.readuntil(b"\n\n")  # from here on, no event is missed
                self._open += 1
                async for chunk in answer.content.iter_any():
                    whole, mark, rest = (rest + chunk).rpartition(b"\n\n")
                    last_id = _note(whole + mark, came_s) or last_id
            self.reconnected += 1

    async def _search(self, http: aiohttp.ClientSession, number: int) -> None:
        await asyncio.sleep(SEARCH_EVERY_S * number / self.count)
        for name in itertools.islice(itertools.cycle(SEARCHES), number, None):
            answer = await self._call(http, name, SEARCHES[name])
            if name == "newest passes" and answer and answer["passes"]:
                found = answer["passes"][0]
                await self._call(http, "one pass", f"/v1/passes/{found['id']}")
                await self._call(http, "its crop", found["crop"])
            await asyncio.sleep(SEARCH_EVERY_S)

    async def _call(self, http: aiohttp.ClientSession, name: str, path: str) -> Any:
        started = time.perf_counter()
        async with http.get(path) as answer:
            content = await (answer.read() if name == "its crop" else answer.json())
            if answer.status != 200:
                self.refused[f"{name}: {answer.status}"] += 1
                return None
        self.calls_ms[name].append(1000 * (time.perf_counter() - started))
        return content


def _note(events: bytes, came_s: dict[Key, float]) -> bytes:
    """Note the time of events; return the last number among them."""
    now_s = time.time()
    for kind, id_ in EVENT.findall(events):
        came_s.setdefault((id_.decode(), kind.decode()), now_s)
    _, mark, after = events.rpartition(b"id: ")
    return after.partition(b"\n")[0] if mark else b""
