"""Requests whose answers are streams, which a test reads as it likes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import anyio
from starlette.testclient import TestClient
from starlette.types import Message


@dataclass
class StreamedAnswer:
    """A request whose answer is a stream.

    Attributes:
        is_enough: Tells of the content whether the caller takes nothing more.
        content: The bytes received so far.
    """

    client: TestClient
    path: str
    headers: dict[str, str] = field(default_factory=dict)
    is_enough: Callable[[bytearray], bool] = lambda _: False
    content: bytearray = field(default_factory=bytearray)
    _is_left: anyio.Event = field(default_factory=anyio.Event)

    def __post_init__(self) -> None:
        portal = self.client.portal
        assert portal is not None
        self._portal, self._running = portal, portal.start_task_soon(self._run)

    @property
    def has_ended(self) -> bool:
        """True if the answer has ended or was interrupted."""
        return self._running.done()

    def leave(self) -> None:
        """Disconnect, and wait for the end."""
        self._portal.call(self._is_left.set)
        self._running.result(20)

    async def _run(self) -> None:
        path, _, query = self.path.partition("?")
        headers = {"host": self.client.base_url.netloc.decode()} | self.headers
        scope: dict[str, Any] = {
            "type": "http",
            "http_version": "1.1",
            "method": "GET",
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
            "client": ("127.0.0.1", 50001),
            "server": ("localhost", 8000),
        }
        await self.client.app(scope, self._receive, self._send)

    async def _receive(self) -> Message:
        await self._is_left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        assert message.get("status", 200) == 200
        self.content += message.get("body", b"")
        if self.is_enough(self.content):
            await anyio.sleep_forever()
