"""Requests and answers of the REST API: queries, bodies, reasons and JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeVar
from urllib.parse import unquote_to_bytes

from pydantic import BaseModel, ValidationError
from starlette.datastructures import Headers
from starlette.responses import Response

from orchestrator.errors import ParameterError
from orchestrator.host.csv_cells import EXCEL, PLAIN, CsvForm
from orchestrator.host.validation_errors import describe_invalid
from orchestrator.serving.gateway.extension import Model, UnsupportedMedia, announced_size
from plate_cameras.control_room.endpoint import CURSOR, PagedResponse, RoomRequest
from plate_cameras.control_room.rest.queries import MAX_NAME_LENGTH, NamesQuery, Query
from plate_cameras.control_room.store_threads import SEARCH
from plate_cameras.store.errors import UnknownName
from plate_cameras.store.finding.pass_query import Requester

MAX_BYTES = 64 * 1024
"""Largest JSON body: the event loop, which recognition shares, reads it."""
JSON, CSV = "application/json", "text/csv"
CSV_FORMS = {"csv": PLAIN, "excel": EXCEL}
"""Forms of CSV files by the value of `format`."""
NO_REASON = "-"


class Named(Protocol):
    """A thing with a name."""

    @property
    def name(self) -> str: ...


NamedT = TypeVar("NamedT", bound=Named)
QueryT = TypeVar("QueryT", bound=Query)
BodyT = TypeVar("BodyT", bound=BaseModel)


def query_of(request: RoomRequest, kind: type[QueryT]) -> QueryT:
    """Return the query of a request.

    Raises:
        ParameterError: A parameter is unknown, repeated or out of range.
    """
    values: dict[str, Any] = {}
    fields = {field.alias or name: field for name, field in kind.model_fields.items()}
    for name, value in request.request.http.query_params.multi_items():
        if name in fields and isinstance(fields[name].default, tuple):
            values.setdefault(name, []).append(value)
        elif name in values:
            raise ParameterError(f"{name[:100]}: wanted it once, got it several times")
        else:
            values[name] = value
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        raise ParameterError(describe_invalid(error.errors(include_url=False))) from error


async def body_of(
    request: RoomRequest,
    kind: type[BodyT],
    *,
    max_bytes: int = MAX_BYTES,
    hides_values: bool = False,
) -> BodyT:
    """Return the JSON body of a request; an empty body is an empty object.

    Pages of other sites cannot send this content type without a preflight, which is not answered.

    Args:
        request: The request.
        kind: The model of the body.
        max_bytes: Largest body, bytes.
        hides_values: Errors show no value of the body: it may be a password.

    Raises:
        GatewayError: The body is not announced as JSON, or is too large.
        ParameterError: The body is no JSON object of this kind.
    """
    check_type(request, JSON)
    announced_size(request.request.http.headers, max_bytes)
    content = await request.body()
    try:
        return kind.model_validate_json(content or b"{}")
    except ValidationError as error:
        problem = describe_invalid(error.errors(include_url=False), hides_values=hides_values)
        raise ParameterError(f"body: {problem}") from None  # the error holds all values


def check_type(request: RoomRequest, *types: str) -> None:
    """Check the content type of a body.

    Raises:
        UnsupportedMedia: It is another one.
    """
    content_type = request.request.http.headers.get("content-type", "")
    if content_type.partition(";")[0].strip().lower() not in types:
        raise UnsupportedMedia(
            f"content-type: wanted {' or '.join(types)}, got {content_type[:100]!r}"
        )


def requester_of(request: RoomRequest, query: Query, *, needs_reason: bool = False) -> Requester:
    """Return the principal of a request with its reason and scope, for the audit.

    Args:
        request: The request.
        query: Its query.
        needs_reason: True if a missing reason is an error where the configuration requires reasons.

    Raises:
        ParameterError: The reason is missing, too long or not printable.
    """
    why = read_reason(request.request.http.headers, query.reason)
    if needs_reason and not why and request.room.configuration.control_room.reasons_required:
        raise ParameterError("reason: wanted one in `X-Reason` or `reason`, got none")
    by_page = request.request.http.headers.get(AUTOMATIC) == "true"
    return Requester(request.principal.name, why or NO_REASON, request.scope, by_page)


def csv_form_of(request: RoomRequest, name: str | None) -> CsvForm | None:
    """Return the form of the wanted CSV file; None for an answer in JSON.

    Args:
        request: The request, whose header Accept counts without a name.
        name: The value of the parameter `format`.
    """
    if name:
        return CSV_FORMS.get(name)
    accept = request.request.http.headers.get("accept", "")
    return PLAIN if accept.lower().startswith(CSV) else None


def path_value(request: RoomRequest, name: str) -> str:
    """Return a part of the path.

    Raises:
        ParameterError: It is too long.
    """
    value = str(request.request.http.path_params[name])
    if len(value) > MAX_NAME_LENGTH:
        raise ParameterError(
            f"{name}: wanted at most {MAX_NAME_LENGTH} characters, got {len(value)}"
        )
    return value


def named_in_path(request: RoomRequest, items: Iterable[NamedT], kind: str) -> NamedT:
    """Return the item that the path names.

    Args:
        request: The request.
        items: The things that the principal may see.
        kind: What they are, for the error.

    Raises:
        UnknownName: There is none of this name.
    """
    name = path_value(request, "name")
    for item in items:
        if item.name == name:
            return item
    raise UnknownName(f"there is no {kind} {name!r}")


def page_of(items: Sequence[NamedT], query: NamesQuery) -> tuple[tuple[NamedT, ...], str]:
    """Return a page of things with names, and the cursor of the next one; `""` after the last.

    Raises:
        ParameterError: The cursor names nothing that is there.
    """
    names, start = [item.name for item in items], 0
    if query.cursor:
        if query.cursor not in names:
            raise ParameterError(f"cursor: wanted one of a page, got {query.cursor!r}")
        start = names.index(query.cursor) + 1
    end = start + query.limit
    return tuple(items[start:end]), names[end - 1] if end < len(names) else ""


def answer(model: BaseModel, *, status: int = 200) -> Response:
    """Return a JSON answer, which may not be kept by caches between us and the caller."""
    return _to_response(model.model_dump_json().encode(), getattr(model, CURSOR, ""), status)


async def answer_in_thread(request: RoomRequest, make_model: Callable[[], Model]) -> Response:
    """Return a JSON answer that may be long: a thread reads the store and writes the JSON."""

    def write() -> tuple[bytes, str]:
        model = make_model()
        return model.to_json(), getattr(model, CURSOR, "")

    return _to_response(*await request.room.threads.run(write, SEARCH))


def _to_response(content: bytes, cursor: str, status: int = 200) -> Response:
    """Return a JSON answer.

    Args:
        content: The JSON.
        cursor: Cursor of the next page; the endpoint makes a link of it. Empty for none.
        status: HTTP status.
    """
    response = PagedResponse(
        content, status, media_type=JSON, headers={"cache-control": "no-store"}
    )
    response.cursor = cursor
    return response


def attachment(name: str) -> dict[str, str]:
    """Return the headers of a file that browsers save."""
    return {"content-disposition": f'attachment; filename="{name}"', "cache-control": "no-store"}


HEADER = "x-reason"
AUTOMATIC = "x-automatic"
"""Header of requests that a page makes by itself. The audit marks them."""
MAX_CHARACTERS = 500


def read_reason(headers: Headers, parameter: str = "") -> str:
    """Return the reason of a request; empty if it has none.

    The header goes before the parameter `reason`. It may be UTF-8, or percent-encoded UTF-8:
    browsers send only Latin-1 in headers.

    Raises:
        ParameterError: The reason is too long or not printable.
    """
    if HEADER in headers:
        text = unquote_to_bytes(headers[HEADER].encode("latin-1")).decode(errors="replace")
    else:
        text = parameter
    reason = text.strip()
    if len(reason) > MAX_CHARACTERS or not reason.isprintable():
        limit = f"at most {MAX_CHARACTERS} printable characters"
        raise ParameterError(f"reason: wanted {limit}, got {reason[:100]!r}")
    return reason
