"""Searches for passes, single passes, their pictures, and counts."""

from __future__ import annotations

from typing import Literal

from starlette.responses import Response

from plate_cameras.control_room.access.principals import Role
from plate_cameras.control_room.endpoint import RoomRequest
from plate_cameras.control_room.operations import CSV as CSV_FILE
from plate_cameras.control_room.operations import JPEG as JPEG_FILE
from plate_cameras.control_room.operations import Operation, route
from plate_cameras.control_room.rest.csv_export import FileStyle, csv_response
from plate_cameras.control_room.rest.documents import to_details, to_pass
from plate_cameras.control_room.rest.exchange import (
    answer,
    answer_in_thread,
    csv_form_of,
    path_value,
    query_of,
    requester_of,
)
from plate_cameras.control_room.rest.queries import CountsQuery, PassesQuery, PassPartsQuery, Query
from plate_cameras.control_room.rest.schemas import PassCounts, PassesPage, PassWithReadings
from plate_cameras.control_room.store_threads import SEARCH
from plate_cameras.store.finding.pass_query import PassQuery
from plate_cameras.store.finding.reader import CountQuery

JPEG = "image/jpeg"


@Operation(
    "passes",
    "Search passes, the newest first",
    "passes",
    answer=PassesPage,
    query=PassesQuery,
    media=CSV_FILE,
)
@route("GET", "/v1/passes", Role.VIEWER)
async def search(request: RoomRequest) -> Response:
    """Return a page of passes, or all of them as a CSV file."""
    query = query_of(request, PassesQuery)
    requester = requester_of(request, query, needs_reason=True)
    pass_query = PassQuery(
        **query.model_dump(exclude={"format", "reason", "language", "time_zone"})
    )
    if form := csv_form_of(request, query.format):
        style = FileStyle(form, query.language or "", query.time_zone)
        return await csv_response(request, pass_query, requester, style)

    def read() -> PassesPage:
        page = request.room.store.search(pass_query, requester)
        passes = tuple(
            to_pass(found_pass, page.hits.get(found_pass.number, ())) for found_pass in page.passes
        )
        return PassesPage(passes=passes, cursor=page.cursor)

    return await answer_in_thread(request, read)


@Operation(
    "pass", "A pass with all its readings", "passes", answer=PassWithReadings, query=PassPartsQuery
)
@route("GET", "/v1/passes/{id}", Role.VIEWER)
async def get(request: RoomRequest) -> Response:
    """Return a pass with its readings and openings."""
    query = query_of(request, PassPartsQuery)
    requester = requester_of(request, query)
    pass_id, store = path_value(request, "id"), request.room.store

    def read() -> PassWithReadings:
        details = store.get(pass_id, requester, neighbours=query.neighbours)
        openings = store.openings.page(requester.scope, pass_id=pass_id)
        return to_details(details, openings.openings)

    return await answer_in_thread(request, read)


@Operation("cropOfPass", "The crop of a pass", "passes", media=JPEG_FILE)
@route("GET", "/v1/passes/{id}/crop.jpg", Role.VIEWER, is_background=True)
async def crop(request: RoomRequest) -> Response:
    """Return the picture of the plate."""
    return await _picture(request, "crop")


@Operation(
    "frameOfPass", "The picture of the vehicle, or the whole frame", "passes", media=JPEG_FILE
)
@route("GET", "/v1/passes/{id}/frame.jpg", Role.VIEWER, is_background=True)
async def frame(request: RoomRequest) -> Response:
    """Return the picture of the vehicle, or the whole frame."""
    return await _picture(request, "frame")


async def _picture(request: RoomRequest, kind: Literal["crop", "frame"]) -> Response:
    scope = requester_of(request, query_of(request, Query)).scope
    pass_id, store = path_value(request, "id"), request.room.store
    digest = await request.room.threads.run(lambda: store.reader.picture_of(pass_id, kind, scope))
    headers = {"cache-control": "private, no-cache", "etag": f'"{digest}"'}
    if headers["etag"] in request.request.http.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    jpeg = await request.room.threads.run(lambda: store.picture(digest))
    return Response(jpeg, media_type=JPEG, headers=headers)


@Operation(
    "countPasses",
    "Count passes by hour or by camera",
    "passes",
    answer=PassCounts,
    query=CountsQuery,
)
@route("GET", "/v1/passes/counts", Role.VIEWER)
async def count(request: RoomRequest) -> Response:
    """Return a page of the counts of passes by hour or by camera."""
    query = query_of(request, CountsQuery)
    scope = requester_of(request, query).scope
    count_query = CountQuery(
        query.from_s,
        query.until_s,
        query.camera,
        60 * query.offset_minutes,
        limit=query.limit + 1,
        after=query.cursor,
    )
    reader = request.room.store.reader
    count_passes = reader.count_by_hour if query.by == "hour" else reader.count_by_camera
    counts = await request.room.threads.run(lambda: [*count_passes(count_query, scope)], SEARCH)
    page = counts[: query.limit]
    cursor = page[-1].key if len(counts) > query.limit else ""
    document = {"by": query.by, "counts": tuple(map(vars, page)), "cursor": cursor}
    return answer(PassCounts.model_validate(document))


ROUTES = (search, count, get, crop, frame)
