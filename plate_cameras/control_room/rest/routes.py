"""All routes of the REST API."""

from __future__ import annotations

from plate_cameras.control_room.operations import RoomRoute
from plate_cameras.control_room.rest import (
    cameras,
    gates,
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
    return tuple(
        [passes.search, passes.count, passes.get, passes.crop, passes.frame]
        + [plates.export, plates.delete, make_route(feed)]
        + [lists.list_all, lists.put_list, lists.delete_list]
        + [lists.list_entries, lists.import_entries, lists.put_entry, lists.delete_entry]
        + [cameras.list_all, cameras.get, cameras.still, cameras.put_areas, cameras.delete_areas]
        + [gates.list_all, gates.list_openings]
        + [sessions.log_in, sessions.show, sessions.log_out, sessions.change_password]
        + [people.show_all, people.put, people.remove, plates.list_searches]
    )
