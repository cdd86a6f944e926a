"""A Unix socket before PostgreSQL's, which can be closed: the database is away then."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from pathlib import Path

SOCKET = ".s.PGSQL.5432"


class DatabaseLink:
    """Forwards connections to a server's socket until it is cut.

    Args:
        folder: Folder for the socket.
        server: Folder of the server's socket.
    """

    def __init__(self, folder: Path, server: str) -> None:
        self._path, self._server = str(folder / SOCKET), f"{server}/{SOCKET}"
        self._loop = asyncio.new_event_loop()
        self._listening: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()

    def join(self) -> None:
        """Accept connections."""
        asyncio.run_coroutine_threadsafe(self._join(), self._loop).result()

    def cut(self) -> None:
        """End all connections, and accept no more."""
        asyncio.run_coroutine_threadsafe(self._cut(), self._loop).result()

    async def _join(self) -> None:
        Path(self._path).unlink(missing_ok=True)
        self._listening = await asyncio.start_unix_server(self._forward, self._path)

    async def _cut(self) -> None:
        if self._listening:
            self._listening.close()
        Path(self._path).unlink(missing_ok=True)
        for writer in [*self._open]:
            writer.transport.abort()

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            there, back = await asyncio.open_unix_connection(self._server)
            self._open |= {writer, back}
            await asyncio.gather(_copy(reader, back), _copy(there, writer))
            self._open -= {writer, back}


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while content := await source.read(65536):
            target.write(content)
            await target.drain()
    target.close()
