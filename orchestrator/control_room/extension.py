"""The control room as an extension of the gateway."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any

from starlette.routing import Route

from orchestrator.cameras.background_tasks import BackgroundTasks
from orchestrator.cameras.configuration import read_configuration
from orchestrator.cameras.exposed_passwords import warn_of_readers
from orchestrator.cameras.store.factory import open_store
from orchestrator.control_room.access.policy import AccessPolicy, Entrance
from orchestrator.control_room.endpoint import ControlRoom, to_routes
from orchestrator.control_room.pages.routes import page_routes
from orchestrator.control_room.rest.change_feed import ChangeFeed
from orchestrator.control_room.rest.openapi import describe
from orchestrator.control_room.rest.routes import rest_routes
from orchestrator.errors import SettingsError
from orchestrator.gateway.data_plane import DataPlane, Identify
from orchestrator.gateway.http.openapi_schemas import ApiPart
from orchestrator.gateway.options import GatewayOptions
from orchestrator.system.file_stamps import stamp_of

LOG = logging.getLogger(__name__)
RELOAD_EVERY_S = 2.0


class ControlRoomExtension:
    """Routes of the control room.

    Args:
        room: The parts that they need.
        file: The file of cameras, which is read again when it changes.
    """

    def __init__(self, room: ControlRoom, file: Path) -> None:
        self._room, self._file = room, file
        self._feed = ChangeFeed(room)
        self._routes = rest_routes(self._feed)

    def routes(self, service: DataPlane) -> Sequence[Route]:
        """Return all routes, see `Extension`."""
        return [*to_routes(self._routes, self._room, service), *page_routes()]

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

    async def _run_tasks(self) -> None:
        tasks = BackgroundTasks()
        tasks.start("live events", self._feed.run)
        tasks.start("file of cameras", lambda: _follow(self._room, self._file))
        try:
            await asyncio.Event().wait()
        finally:
            await tasks.stop()


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


async def _follow(room: ControlRoom, file: Path) -> None:
    """Follow changes of the file of cameras. A wrong file changes nothing."""
    stamp = stamp_of(file)
    while True:
        await asyncio.sleep(RELOAD_EVERY_S)
        if (now := stamp_of(file)) == stamp:
            continue
        stamp = now
        try:
            room.configuration = read_configuration(file)
        except SettingsError as error:
            LOG.error("cameras are not read again: %s", error)
