"""All routes of the REST API."""

from __future__ import annotations

from functools import partial

from orchestrator.serving.gateway.extension import Model
from plate_cameras.control_room.access.principals import Role
from plate_cameras.control_room.described import Described
from plate_cameras.control_room.endpoint import Handle, RoomRoute
from plate_cameras.control_room.rest import (
    cameras,
    events,
    gates,
    lists,
    passes,
    people,
    plates,
    queries,
    schemas,
    sessions,
)
from plate_cameras.control_room.rest.change_feed import ChangeFeed
from plate_cameras.control_room.rest.streams import OpenStreams
from plate_cameras.store.lists.plate_entries import MAX_FILE_BYTES

VIEWER, EDITOR, ADMINISTRATOR = Role.VIEWER, Role.EDITOR, Role.ADMINISTRATOR
CSV = {"text/csv": "A file with one line for each"}
JPEG = {"image/jpeg": "The picture"}


def rest_routes(feed: ChangeFeed) -> tuple[RoomRoute, ...]:
    """Return the routes.

    Args:
        feed: Gives changes to the listeners of `/v1/events`.
    """
    return (
        *_passes(),
        *_plates(),
        _events(partial(events.follow, feed, OpenStreams())),
        *_lists(),
        *_entries(),
        *_cameras(),
        *_gates(),
        *sessions.ROUTES,
        *people.ROUTES,
        RoomRoute(
            *("GET", "/v1/audit", ADMINISTRATOR, plates.list_searches),
            Described(
                *("audit", "Who has searched for what, and why", "operation"),
                answer=schemas.AuditPage,
                query=queries.AuditPageQuery,
            ),
        ),
    )


def _passes() -> tuple[RoomRoute, ...]:
    def picture(kind: str, handle: Handle, *, is_background: bool = False) -> RoomRoute:
        described = Described(f"{kind}OfPass", f"The {kind} of a pass", "passes", media=JPEG)
        path = f"/v1/passes/{{id}}/{kind}.jpg"
        return RoomRoute("GET", path, VIEWER, handle, described, is_background=is_background)

    return (
        RoomRoute(
            *("GET", "/v1/passes", VIEWER, passes.search),
            Described(
                *("passes", "Search passes, the newest first", "passes"),
                answer=schemas.PassesPage,
                query=queries.PassesQuery,
                media=CSV,
            ),
        ),
        RoomRoute(
            *("GET", "/v1/passes/counts", VIEWER, passes.count),
            Described(
                *("countPasses", "Count passes by hour or by camera", "passes"),
                answer=schemas.PassCounts,
                query=queries.CountsQuery,
            ),
        ),
        RoomRoute(
            *("GET", "/v1/passes/{id}", VIEWER, passes.get),
            Described(
                *("pass", "A pass with all its readings", "passes"),
                answer=schemas.PassWithReadings,
            ),
        ),
        picture("crop", passes.crop, is_background=True),
        picture("frame", passes.frame),
    )


def _plates() -> tuple[RoomRoute, ...]:
    return (
        RoomRoute(
            *("GET", "/v1/plates/{text}/export", ADMINISTRATOR, plates.export),
            Described(
                *("exportPlate", "Everything about one plate, for its owner", "operation"),
                media={"application/zip": "Passes as JSON lines, and their pictures"},
            ),
        ),
        RoomRoute(
            *("DELETE", "/v1/plates/{text}", ADMINISTRATOR, plates.delete),
            Described(
                *("deletePlate", "Delete everything about one plate", "operation"),
                answer=schemas.Deletion,
                query=queries.DeletionQuery,
            ),
        ),
    )


def _events(follow: Handle) -> RoomRoute:
    return RoomRoute(
        *("GET", "/v1/events", VIEWER, follow),
        Described(
            *("events", "Passes and cameras as they change", "passes"),
            query=queries.EventsQuery,
            media={
                "text/event-stream": "Events `pass.agreed`, `pass.updated`, `pass.closed` with a "
                "pass, and `camera` with a camera. They come at least once. `reset` says that "
                "more was missed than is still known"
            },
        ),
        is_background=True,
    )


def _lists() -> tuple[RoomRoute, ...]:
    path = "/v1/lists/{name}"
    return (
        RoomRoute(
            *("GET", "/v1/lists", VIEWER, lists.list_all),
            _page("lists", "All lists", "lists", schemas.ListsAnswer),
            is_background=True,
        ),
        RoomRoute(
            *("PUT", path, ADMINISTRATOR, lists.put_list),
            Described(
                *("putList", "Create or change a list", "lists"),
                answer=schemas.ListAnswer,
                body=queries.ListBody,
                problems=("409",),
            ),
        ),
        RoomRoute(
            *("DELETE", path, ADMINISTRATOR, lists.delete_list),
            Described("deleteList", "Delete a list; its passes stay", "lists", status=204),
        ),
    )


def _entries() -> tuple[RoomRoute, ...]:
    path = "/v1/lists/{name}/entries"
    return (
        RoomRoute(
            *("GET", path, VIEWER, lists.list_entries),
            Described(
                *("entries", "The entries of a list", "lists"),
                answer=schemas.EntriesAnswer,
                query=queries.EntriesQuery,
                media=CSV,
            ),
        ),
        RoomRoute(
            *("POST", path, EDITOR, lists.import_entries),
            Described(
                *("importEntries", "Add the entries of a CSV file", "lists"),
                answer=schemas.Imported,
                query=queries.ImportQuery,
                text_body="text/csv",
                max_text_bytes=MAX_FILE_BYTES,
                problems=("409",),
            ),
        ),
        RoomRoute(
            *("PUT", f"{path}/{{text}}", EDITOR, lists.put_entry),
            Described(
                *("putEntry", "Add or replace an entry", "lists"),
                answer=schemas.EntryAnswer,
                body=queries.EntryBody,
            ),
        ),
        RoomRoute(
            *("DELETE", f"{path}/{{text}}", EDITOR, lists.delete_entry),
            Described("deleteEntry", "Remove an entry", "lists", status=204),
        ),
    )


def _cameras() -> tuple[RoomRoute, ...]:
    path = "/v1/cameras/{name}"
    return (
        RoomRoute(
            *("GET", "/v1/cameras", VIEWER, cameras.list_all),
            _page("cameras", "All cameras", "cameras", schemas.CamerasAnswer),
            is_background=True,
        ),
        RoomRoute(
            *("GET", path, VIEWER, cameras.get),
            Described("camera", "One camera", "cameras", answer=schemas.CameraAnswer),
            is_background=True,
        ),
        RoomRoute(
            *("GET", f"{path}/still.jpg", VIEWER, cameras.still),
            Described("still", "The last picture of a camera", "cameras", media=JPEG),
            is_background=True,
        ),
        RoomRoute(
            *("PUT", f"{path}/areas", ADMINISTRATOR, cameras.put_areas),
            Described(
                *("putAreas", "Draw zones, lines and masks", "cameras"),
                answer=schemas.CameraAnswer,
                body=queries.AreasBody,
            ),
        ),
        RoomRoute(
            *("DELETE", f"{path}/areas", ADMINISTRATOR, cameras.delete_areas),
            Described(
                *("deleteAreas", "Go back to the areas of the file", "cameras"),
                answer=schemas.CameraAnswer,
            ),
        ),
    )


def _gates() -> tuple[RoomRoute, ...]:
    return (
        RoomRoute(
            *("GET", "/v1/gates", VIEWER, gates.list_all),
            _page("gates", "All gates", "gates", schemas.GatesAnswer),
            is_background=True,
        ),
        RoomRoute(
            *("GET", "/v1/gates/openings", VIEWER, gates.list_openings),
            Described(
                *("openings", "Openings of gates, the newest first", "gates"),
                answer=schemas.OpeningsPage,
                query=queries.PageQuery,
            ),
            is_background=True,
        ),
    )


def _page(name: str, summary: str, tag: str, kind: type[Model]) -> Described:
    """Describe an operation that gives a page of things with names."""
    return Described(name, summary, tag, answer=kind, query=queries.NamesQuery)
