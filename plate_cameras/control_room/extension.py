"""The control room as an extension of the gateway."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any

from starlette.routing import Route

from orchestrator.errors import PlateError, SettingsError
from orchestrator.host.disk_files import stamp_of
from orchestrator.serving.gateway.extension import ApiPart, DataPlane, GatewayOptions, Identify
from plate_cameras.background_tasks import BackgroundTasks
from plate_cameras.configuration import read_configuration
from plate_cameras.control_room.access.policy import AccessPolicy, Entrance
from plate_cameras.control_room.endpoint import ControlRoom, to_routes
from plate_cameras.control_room.pages.routes import page_routes
from plate_cameras.control_room.rest.change_feed import ChangeFeed
from plate_cameras.control_room.rest.routes import describe, rest_routes
from plate_cameras.secret_settings import warn_of_readers
from plate_cameras.store.factory import open_store
from plate_cameras.store.scope import EVERYTHING

RELOAD_EVERY_S, CHECK_EVERY_S = 2.0, 5.0
DATABASE, FILE_OF_CAMERAS = "database", "file of cameras"
"""Names of tasks."""


class ControlRoomExtension:
    """Routes of the control room.

    Args:
        file: The file of cameras, which is read again when it changes.
    """

    def __init__(self, room: ControlRoom, file: Path) -> None:
        self._room, self._file = room, file
        self._feed = ChangeFeed(room)
        self._tasks = BackgroundTasks()
        self._routes = rest_routes(self._feed)

    def routes(self, service: DataPlane) -> Sequence[Route]:
        """Return all routes, see `Extension`."""
        return [*to_routes(self._routes, self._room, service), *page_routes(service.options)]

    @property
    def identify(self) -> Identify:
        """Finds people who have logged in: they may send pictures from the first page, too."""
        return self._room.access.find_sender

    def describe(self) -> ApiPart:
        """Return the description of all routes."""
        return describe(self._routes)

    def duties(self) -> Sequence[Coroutine[Any, Any, None]]:
        """Return what runs in the background. None of it ends recognition by a fault."""
        return (self._run_tasks(),)

    async def close(self) -> None:
        """Close the store, and end threads."""
        self._room.threads.close()
        self._room.access.close()
        self._room.store.close()

    def broken_parts(self) -> list[str]:
        """Return the names of tasks that have failed; the log says why."""
        return [
            f"control room: {status.name}"
            for status in self._tasks.statuses
            if status.last_error or not status.is_up
        ]

    async def _run_tasks(self) -> None:
        self._tasks.start("live events", self._feed.run)
        self._tasks.start(FILE_OF_CAMERAS, self._follow)
        self._tasks.start(DATABASE, self._check_database)
        try:
            await asyncio.Event().wait()
        finally:
            await self._tasks.stop()

    async def _check_database(self) -> None:
        """Note from time to time whether the database can be used."""
        room = self._room
        while True:
            error = None
            try:
                await room.threads.run(lambda: room.store.lists.describe(EVERYTHING))
            except PlateError as raised:
                error = raised
            self._tasks.note(DATABASE, error, "the database of the passes cannot be used")
            await asyncio.sleep(CHECK_EVERY_S)

    async def _follow(self) -> None:
        """Follow changes of the file of cameras. A wrong file changes nothing."""
        stamp, error = stamp_of(self._file), None
        while True:
            await asyncio.sleep(RELOAD_EVERY_S)
            now = stamp_of(self._file)
            if now == stamp and error is None:  # else this machine may have been the reason
                continue
            stamp, error = now, None
            try:
                self._room.configuration = read_configuration(self._file)
            except SettingsError as raised:
                error = raised
            self._tasks.note(FILE_OF_CAMERAS, error, "cameras are not read again")


def open_control_room(options: GatewayOptions) -> ControlRoomExtension:
    """Open the control room of a file of cameras.

    Raises:
        PlateError: The file or the store cannot be used.
    """
    assert options.cameras is not None
    configuration = read_configuration(options.cameras)
    warn_of_readers(options.cameras, configuration)
    store = open_store(configuration.store, options.cameras.absolute().parent)
    access = AccessPolicy(Entrance.of(options), store, configuration.control_room)
    room = ControlRoom(configuration, store, access)
    return ControlRoomExtension(room, options.cameras)
