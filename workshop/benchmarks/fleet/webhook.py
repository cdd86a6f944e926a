"""A receiver of webhooks that notes when each event has come."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web


@dataclass
class Received:
    """The events that have come.

    Attributes:
        at_s: Unix time by the event's id.
        repeated: Number of events that came again.
        url: Address of the receiver.
    """

    at_s: dict[str, float] = field(default_factory=dict)
    repeated: int = 0
    url: str = ""

    async def take(self, request: web.Request) -> web.Response:
        """Note an event."""
        await request.read()
        name = request.headers["webhook-id"]
        self.repeated += name in self.at_s
        self.at_s.setdefault(name, time.time())
        return web.Response(status=204)


@asynccontextmanager
async def receiving() -> AsyncIterator[Received]:
    """Serve a receiver on loopback."""
    received = Received()
    application = web.Application()
    application.router.add_post("/", received.take)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    received.url = f"http://{host}:{port}/"
    try:
        yield received
    finally:
        await runner.cleanup()
