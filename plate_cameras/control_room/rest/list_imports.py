"""Imports of files of plates into lists."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.responses import Response

from orchestrator.serving.gateway.extension import announced_size
from plate_cameras.control_room.access.principals import Role
from plate_cameras.control_room.endpoint import RoomRequest
from plate_cameras.control_room.operations import CSV as CSV_FILE
from plate_cameras.control_room.operations import Operation, route
from plate_cameras.control_room.rest.exchange import (
    CSV,
    answer,
    attachment,
    check_type,
    path_value,
    query_of,
    requester_of,
)
from plate_cameras.control_room.rest.list_schemas import (
    DoubtfulRow,
    Imported,
    ImportQuery,
    PreviewAnswer,
    PreviewQuery,
    TemplateQuery,
    to_entry,
)
from plate_cameras.control_room.rest.lists import ENTRIES, LIST
from plate_cameras.control_room.store_threads import BULK
from plate_cameras.store.lists.file_contents import MAX_FILE_BYTES, decode
from plate_cameras.store.lists.list_file import FileRow, make_template
from plate_cameras.store.lists.list_preview import ImportPreview, preview_import

WORKBOOK = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
MAX_SHOWN_PROBLEMS = 100
"""Largest number of wrong rows, and of doubtful ones, that a preview has."""
MAX_SHOWN_ENTRIES = 10
"""Number of entries that a preview has."""


@Operation(
    "importEntries",
    "Add the entries of a CSV file",
    "lists",
    answer=Imported,
    query=ImportQuery,
    text_body=CSV,
    max_text_bytes=MAX_FILE_BYTES,
    problems=("409",),
)
@route("POST", ENTRIES, Role.EDITOR)
async def import_entries(request: RoomRequest) -> Response:
    """Add the entries of a file: CSV, or a workbook with its own content type."""
    query, name = query_of(request, ImportQuery), path_value(request, "name")
    requester = requester_of(request, query)
    body, lists = await _file_of(request), request.room.store.lists
    count = await request.room.threads.run(
        lambda: lists.import_csv(
            name,
            decode(body),
            replacing=query.replace,
            accepts_doubtful=query.accept_doubtful,
            zone=query.time_zone,
            requester=requester,
        ),
        BULK,
    )
    return answer(Imported(imported=count))


@Operation(
    "previewImport",
    "Tell what an import would do",
    "lists",
    answer=PreviewAnswer,
    query=PreviewQuery,
    text_body=CSV,
    max_text_bytes=MAX_FILE_BYTES,
)
@route("POST", f"{LIST}/preview", Role.EDITOR)
async def preview_entries(request: RoomRequest) -> Response:
    """Show what an import of a file would do. Nothing is changed."""
    query, name = query_of(request, PreviewQuery), path_value(request, "name")
    body, lists = await _file_of(request), request.room.store.lists

    def preview() -> PreviewAnswer:
        entries = lists.entries(name, request.scope)
        content, zone = decode(body), query.time_zone
        return _to_preview(preview_import(content, entries, replacing=query.replace, zone=zone))

    return answer(await request.room.threads.run(preview, BULK))


@Operation(
    "listTemplate",
    "An empty file to fill in, in the form of Excel",
    "lists",
    query=TemplateQuery,
    media=CSV_FILE,
)
@route("GET", "/v1/list-template", Role.VIEWER)
async def list_template(request: RoomRequest) -> Response:
    """Return an empty file with the names of the columns."""
    content = make_template(query_of(request, TemplateQuery).language)
    return Response(content, media_type=CSV, headers=attachment("plates.csv"))


async def _file_of(request: RoomRequest) -> bytes:
    check_type(request, CSV, WORKBOOK)
    announced_size(request.request.http.headers, MAX_FILE_BYTES)
    return await request.body()


def _to_preview(preview: ImportPreview) -> PreviewAnswer:
    entries = [row.entry for row in preview.rows if row.entry][:MAX_SHOWN_ENTRIES]
    return PreviewAnswer(
        rows=len(preview.rows),
        added=preview.added,
        changed=preview.changed,
        removed=preview.removed,
        wrong_rows=len(preview.wrong),
        doubtful_rows=len(preview.doubtful),
        wrong=_to_problems(preview.wrong),
        doubtful=_to_problems(preview.doubtful),
        entries=tuple(map(to_entry, entries)),
    )


def _to_problems(rows: Sequence[FileRow]) -> tuple[DoubtfulRow, ...]:
    return tuple(
        DoubtfulRow(line=row.line, text=row.typed_text[:100], problem=row.problem)
        for row in rows[:MAX_SHOWN_PROBLEMS]
    )


ROUTES = (import_entries, preview_entries, list_template)
