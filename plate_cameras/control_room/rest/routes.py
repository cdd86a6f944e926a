"""All routes of the REST API."""

from __future__ import annotations

from plate_cameras.control_room.operations import RoomRoute
from plate_cameras.control_room.rest import (
    cameras,
    lists,
    passes,
    people,
    plates,
    sessions,
)
from plate_cameras.control_room.rest.change_feed import ChangeFeed
from plate_cameras.control_room.rest.events import make_route


def rest_routes(feed: ChangeFeed) -> tuple[RoomRoute, ...]:
    """Return the routes.

    Args:
        feed: Gives changes to the listeners of `/v1/events`.
    """
    return (
        *passes.ROUTES,
        *plates.ROUTES,
        make_route(feed),
        *lists.ROUTES,
        *cameras.ROUTES,
        *sessions.ROUTES,
        *people.ROUTES,
        plates.list_searches,
    )
