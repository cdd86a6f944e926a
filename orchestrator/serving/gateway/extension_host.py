"""Runs an extension beside recognition, and keeps its faults away from it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

from orchestrator.errors import PlateError
from orchestrator.host.daemon_threads import DaemonThreads
from orchestrator.serving.gateway.data_plane import DataPlane
from orchestrator.serving.gateway.http.app import make_app
from orchestrator.serving.gateway.http.extension import Extension, OpenExtension

OPEN_S = 10.0
"""Longest time that the start waits for the extension. After it, recognition begins without it."""
RETRY_S = 5.0
"""Pause before an extension is opened again, or its tasks are started again."""
AWAY = ("control room: it cannot be opened",)

logger = logging.getLogger(__name__)


class ExtensionHost:
    """Opens the extension, and adds its routes to the application as soon as it can be opened.

    Args:
        service: The service.
        open_extension: Opens the extension; None for none. It may block.

    Attributes:
        app: The application for callers.
    """

    def __init__(self, service: DataPlane, open_extension: OpenExtension | None = None) -> None:
        self._service, self._open_extension = service, open_extension
        self._extension: Extension | None = None
        self._opening: asyncio.Task[None] | None = None
        self.app = make_app(service)
        # Opening may hang, and keeps no process from ending.
        self._threads = DaemonThreads(1, "extension")

    async def start(self) -> None:
        """Open the extension, but wait no longer than `OPEN_S`."""
        if self._open_extension is None:
            return
        self._service.is_extension_away = True
        self._service.broken_parts = lambda: AWAY
        self._opening = asyncio.create_task(self._open(self._open_extension))
        await asyncio.wait([self._opening], timeout=OPEN_S)

    async def run(self) -> None:
        """Open the extension until it works, then run its tasks. No fault of it ends the method."""
        if self._open_extension is None or self._opening is None:
            return
        await self._opening
        while self._extension is None:
            await asyncio.sleep(RETRY_S)
            await self._open(self._open_extension)
        while True:
            await self._run_duties(self._extension)
            await asyncio.sleep(RETRY_S)

    async def close(self) -> None:
        """Close the extension, if it was opened."""
        if self._extension is not None:
            with _log_errors("the extension cannot be closed"):
                await self._extension.close()

    async def _open(self, open_extension: OpenExtension) -> None:
        with _log_errors("the extension cannot be opened; recognition goes on without it"):
            future = self._threads.submit(_refuse_exits, open_extension)
            extension = await asyncio.wrap_future(future)
            self.app.router = make_app(self._service, extension).router
            self._extension = extension
            self._service.is_extension_away = False
            self._service.broken_parts = extension.broken_parts

    async def _run_duties(self, extension: Extension) -> None:
        """Run the tasks of the extension until one of them ends."""
        tasks: list[asyncio.Task[None]] = []
        try:
            with _log_errors("a task of the extension has failed"):
                tasks += map(_start, extension.duties())
                ended_tasks, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                for task in ended_tasks:
                    task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


def _start(duty: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    return asyncio.create_task(duty)


@contextmanager
def _log_errors(message: str) -> Iterator[None]:
    """Log an exception of the block instead of raising it."""
    try:
        yield
    except PlateError as error:
        logger.error("%s: %s", message, error)
    except Exception as error:
        logger.exception("%s: %s", message, error)


def _refuse_exits(open_extension: OpenExtension) -> Extension:
    """Open an extension. One that would end the process fails instead."""
    try:
        return open_extension()
    except SystemExit as error:
        raise RuntimeError(repr(error)) from error
