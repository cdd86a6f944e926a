"""The control room as an extension of the gateway."""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from typing import Any

from starlette.routing import Route

from orchestrator.cameras.configuration import read_configuration
from orchestrator.cameras.store.pass_store import open_store
from orchestrator.control_room.access.policy import AccessPolicy
from orchestrator.control_room.endpoint import ControlRoom, RoomRoute, to_route
from orchestrator.gateway.data_plane import DataPlane
from orchestrator.gateway.options import GatewayOptions


class ControlRoomExtension:
    """Routes of the control room.

    Args:
        room: What they stand on.
    """

    def __init__(self, room: ControlRoom) -> None:
        self._room = room

    def routes(self, service: DataPlane) -> Sequence[Route]:
        """Return all routes, see `Extension`."""
        return [to_route(one, self._room, service) for one in ROUTES]

    def duties(self) -> Sequence[Coroutine[Any, Any, None]]:
        """Return nothing: all work is done in requests."""
        return ()

    async def close(self) -> None:
        """Close the store."""
        self._room.store.close()


def open_control_room(options: GatewayOptions) -> ControlRoomExtension:
    """Open the control room of a file of cameras.

    Raises:
        PlateError: The file or the store cannot be used.
    """
    assert options.cameras is not None
    configuration = read_configuration(options.cameras)
    store = open_store(configuration.store, options.cameras.parent)
    access = AccessPolicy(options.wants_keys)
    return ControlRoomExtension(ControlRoom(configuration, store, access))


ROUTES: tuple[RoomRoute, ...] = ()
