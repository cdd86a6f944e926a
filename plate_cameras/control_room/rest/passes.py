"""Searches for passes, single passes, their pictures, and counts."""

from __future__ import annotations

from typing import Literal

from starlette.responses import Response

from plate_cameras.control_room.access.principals import Role
from plate_cameras.control_room.endpoint import RoomRequest
from plate_cameras.control_room.operations import CSV as CSV_FILE
from plate_cameras.control_room.operations import JPEG as JPEG_FILE
from plate_cameras.control_room.operations import Described, route
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
from plate_cameras.control_room.rest.queries import CountsQuery, PassAsked, PassesQuery, Query
from plate_cameras.control_room.rest.schemas import PassCounts, PassesPage, PassWithReadings
from plate_cameras.control_room.store_threads import SEARCH
from plate_cameras.store.finding.pass_query import PassQuery
from plate_cameras.store.finding.reader import CountQuery

JPEG = "image/jpeg"


@Described(
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
    asked = query_of(request, PassesQuery)
    requester = requester_of(request, asked, must_tell=True)
    query = PassQuery(**asked.model_dump(exclude={"format", "reason", "language", "time_zone"}))
    if form := csv_form_of(request, asked.format):
        style = FileStyle(form, asked.language or "", asked.time_zone)
        return await csv_response(request, query, requester, style)

    def read() -> PassesPage:
        page = request.room.store.search(query, requester)
        passes = tuple(to_pass(one, page.hits.get(one.number, ())) for one in page.passes)
        return PassesPage(passes=passes, cursor=page.cursor)

    return await answer_in_thread(request, read)


@Described(
    "pass", "A pass with all its readings", "passes", answer=PassWithReadings, query=PassAsked
)
@route("GET", "/v1/passes/{id}", Role.VIEWER)
async def get(request: RoomRequest) -> Response:
    """Return a pass with its readings and openings."""
    asked = query_of(request, PassAsked)
    requester = requester_of(request, asked)
    pass_id, store = path_value(request, "id"), request.room.store

    def read() -> PassWithReadings:
        details = store.get(pass_id, requester, neighbours=asked.neighbours)
        openings = store.openings.page(requester.scope, pass_id=pass_id)
        return to_details(details, openings.openings)

    return await answer_in_thread(request, read)


@Described("cropOfPass", "The crop of a pass", "passes", media=JPEG_FILE)
@route("GET", "/v1/passes/{id}/crop.jpg", Role.VIEWER, is_background=True)
async def crop(request: RoomRequest) -> Response:
    """Return the picture of the plate."""
    return await _picture(request, "crop")


@Described(
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


@Described(
    "countPasses",
    "Count passes by hour or by camera",
    "passes",
    answer=PassCounts,
    query=CountsQuery,
)
@route("GET", "/v1/passes/counts", Role.VIEWER)
async def count(request: RoomRequest) -> Response:
    """Return a page of the counts of passes by hour or by camera."""
    asked = query_of(request, CountsQuery)
    scope = requester_of(request, asked).scope
    query = CountQuery(
        asked.from_s,
        asked.until_s,
        asked.camera,
        60 * asked.offset_minutes,
        limit=asked.limit + 1,
        after=asked.cursor,
    )
    reader = request.room.store.reader
    read = reader.count_by_hour if asked.by == "hour" else reader.count_by_camera
    counts = await request.room.threads.run(lambda: [*read(query, scope)], SEARCH)
    page = counts[: asked.limit]
    cursor = page[-1].key if len(counts) > asked.limit else ""
    shown = tuple(map(vars, page))
    return answer(PassCounts.model_validate({"by": asked.by, "counts": shown, "cursor": cursor}))


ROUTES = (search, count, get, crop, frame)
