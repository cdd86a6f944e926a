"""Lists of plates and their entries."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import ExitStack

from starlette.responses import Response

from plate_cameras.control_room.access.principals import Role
from plate_cameras.control_room.endpoint import RoomRequest
from plate_cameras.control_room.operations import CSV as CSV_FILE
from plate_cameras.control_room.operations import Operation, route
from plate_cameras.control_room.rest.exchange import (
    CSV,
    answer,
    answer_in_thread,
    body_of,
    csv_form_of,
    page_of,
    path_value,
    query_of,
    requester_of,
)
from plate_cameras.control_room.rest.list_schemas import (
    EntriesAnswer,
    EntriesQuery,
    EntryAnswer,
    EntryBody,
    ListAnswer,
    ListBody,
    ListsAnswer,
    to_entry,
)
from plate_cameras.control_room.rest.queries import NamesQuery, Query
from plate_cameras.control_room.rest.streams import EXPORTS, client_of, stream_file
from plate_cameras.control_room.store_threads import SEARCH
from plate_cameras.store.errors import UnknownName
from plate_cameras.store.lists.list_lookup import ListEntry
from plate_cameras.store.lists.list_settings import PlateList
from plate_cameras.store.lists.plate_entries import EntryQuery

LIST = "/v1/lists/{name}"
ENTRIES = f"{LIST}/entries"

NO_CONTENT = 204


@Operation("lists", "All lists", "lists", answer=ListsAnswer, query=NamesQuery)
@route("GET", "/v1/lists", Role.VIEWER, is_background=True)
async def list_all(request: RoomRequest) -> Response:
    """Return a page of the lists."""
    query, lists = query_of(request, NamesQuery), request.room.store.lists
    plate_lists = await request.room.threads.run(lambda: lists.describe(request.scope))
    page, cursor = page_of(plate_lists, query)
    answers = tuple(_to_list(request, plate_list) for plate_list in page)
    return answer(ListsAnswer(lists=answers, cursor=cursor))


@Operation(
    "putList",
    "Create or change a list",
    "lists",
    answer=ListAnswer,
    body=ListBody,
    problems=("409",),
)
@route("PUT", LIST, Role.ADMINISTRATOR)
async def put_list(request: RoomRequest) -> Response:
    """Create a list, or change its note and retention."""
    requester = requester_of(request, query_of(request, Query))
    name, body = path_value(request, "name"), await body_of(request, ListBody)
    lists = request.room.store.lists

    def save() -> PlateList:
        lists.save(name, body.note, body.retention_days, requester)
        by_name = {plate_list.name: plate_list for plate_list in lists.describe(request.scope)}
        return by_name[name]

    return answer(_to_list(request, await request.room.threads.run(save)))


@Operation("deleteList", "Delete a list; its passes stay", "lists", status=204)
@route("DELETE", LIST, Role.ADMINISTRATOR)
async def delete_list(request: RoomRequest) -> Response:
    """Delete a list with its entries."""
    requester = requester_of(request, query_of(request, Query))
    name, lists = path_value(request, "name"), request.room.store.lists
    await request.room.threads.run(lambda: lists.delete(name, requester))
    return Response(status_code=NO_CONTENT)


@Operation(
    "entries",
    "The entries of a list",
    "lists",
    answer=EntriesAnswer,
    query=EntriesQuery,
    media=CSV_FILE,
)
@route("GET", ENTRIES, Role.VIEWER)
async def list_entries(request: RoomRequest) -> Response:
    """Return a page of the entries of a list; a CSV file of all is an export."""
    query = query_of(request, EntriesQuery)
    name, lists = path_value(request, "name"), request.room.store.lists
    if form := csv_form_of(request, query.format):
        requester = requester_of(request, query, needs_reason=True)
        return await _export(request, lists.export_csv(name, requester, form))

    def read() -> EntriesAnswer:
        page = lists.page(name, EntryQuery(query.part, query.limit, query.cursor), request.scope)
        return EntriesAnswer(entries=tuple(map(to_entry, page.entries)), cursor=page.cursor)

    return await answer_in_thread(request, read)


async def _export(request: RoomRequest, parts: Iterator[str]) -> Response:
    """Return the parts of a file. The first one is made before the answer begins."""
    run = request.room.threads.run
    with ExitStack() as place:
        place.enter_context(EXPORTS.open(client_of(request)))
        first = await run(lambda: next(parts, ""), SEARCH)

        async def chunks() -> AsyncGenerator[bytes, None]:
            part = first
            while part:
                yield part.encode()
                part = await run(lambda: next(parts, ""), SEARCH)

        return stream_file(request, chunks, place.pop_all(), name="list.csv", media_type=CSV)


@Operation("putEntry", "Add or replace an entry", "lists", answer=EntryAnswer, body=EntryBody)
@route("PUT", f"{ENTRIES}/{{text}}", Role.EDITOR)
async def put_entry(request: RoomRequest) -> Response:
    """Add an entry to a list, or replace the one with the same text."""
    requester = requester_of(request, query_of(request, Query))
    name, body = path_value(request, "name"), await body_of(request, EntryBody)
    entry = ListEntry(
        path_value(request, "text"), body.note, body.valid_from, body.valid_until, body.edits
    )
    lists = request.room.store.lists
    (stored_entry,) = await request.room.threads.run(
        lambda: lists.put(name, [entry], requester, accepts_doubtful=body.accept_doubtful)
    )
    return answer(to_entry(stored_entry))


@Operation("deleteEntry", "Remove an entry", "lists", status=204)
@route("DELETE", f"{ENTRIES}/{{text}}", Role.EDITOR)
async def delete_entry(request: RoomRequest) -> Response:
    """Remove an entry from a list."""
    requester = requester_of(request, query_of(request, Query))
    name, text = path_value(request, "name"), path_value(request, "text")
    lists = request.room.store.lists
    if not await request.room.threads.run(lambda: lists.remove(name, text, requester)):
        raise UnknownName(f"there is no entry {text!r} in list {name!r}")
    return Response(status_code=NO_CONTENT)


def _to_list(request: RoomRequest, plate_list: PlateList) -> ListAnswer:
    cameras = tuple(camera.name for camera in request.cameras if plate_list.name in camera.lists)
    return ListAnswer(**vars(plate_list), cameras=cameras)


ROUTES = (list_all, put_list, delete_list, list_entries, put_entry, delete_entry)
