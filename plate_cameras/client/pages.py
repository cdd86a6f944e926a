"""Requests to the control room's REST API, and its answers, which come in pages."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, Generic, TypeVar
from urllib.parse import urlencode

from orchestrator.client.error_mapping import UNREADABLE, RejectedError, parse_retry_after
from orchestrator.client.inference import HttpResponse, OutgoingRequest, reading
from orchestrator.errors import ErrorResponse, ParameterError

UNKNOWN = "no such path"
RecordT = TypeVar("RecordT")


@dataclass(frozen=True)
class RecordPage(Generic[RecordT]):
    """A page of records.

    Attributes:
        records: The records.
        cursor: The place after them; `""` after the last page.
    """

    records: tuple[RecordT, ...]
    cursor: str


@dataclass(frozen=True)
class PagedQuery(Generic[RecordT]):
    """A query whose answer comes in pages.

    Attributes:
        path: Path on the server.
        parameters: Values by parameter. A list is sent as several; empty values are left out.
        field: Name of the records in an answer.
        to_record: Makes a record of its document.
    """

    path: str
    parameters: Mapping[str, Any]
    field: str
    to_record: Callable[[Mapping[str, Any]], RecordT]

    def to_request(self, cursor: str) -> OutgoingRequest:
        """Return the request for the page at a cursor; `""` for the first page."""
        return OutgoingRequest("GET", to_path(self.path, {**self.parameters, "cursor": cursor}))

    def read(self, response: HttpResponse) -> RecordPage[RecordT]:
        """Return the page that an answer holds.

        Raises:
            RejectedError: The answer holds none. The message is that of the server.
        """
        document = read_document(response, self.field)
        with reading(self.field, _origin_of(response)):
            return RecordPage(tuple(map(self.to_record, document[self.field])), document["cursor"])


def to_record(kind: type[RecordT], document: Mapping[str, Any], /, **others: Any) -> RecordT:
    """Return a dataclass of a document's fields, some of them in another form."""
    values = {**document, **others}
    return kind(**{name: values[name] for name in kind.__annotations__})


def check_options(subject: str, options: Mapping[str, Any], names: Mapping[str, Any]) -> None:
    """Check the names of a caller's options.

    Raises:
        ParameterError: There is no such option.
    """
    if unknown := sorted(options.keys() - names.keys()):
        raise ParameterError(f"{subject}: wanted some of {', '.join(names)}, got {unknown[0]}")


def read_document(response: HttpResponse, subject: str, *more_statuses: int) -> Any:
    """Return the JSON document of an answer.

    Args:
        response: The answer.
        subject: What the document holds, for errors.
        more_statuses: Statuses beside 200 of answers that hold one.

    Raises:
        RejectedError: The answer holds none. The message is that of the server.
    """
    if response.status not in (200, *more_statuses):
        raise to_rejection(response)
    with reading(subject, _origin_of(response)):
        return json.loads(response.body)


def to_rejection(response: HttpResponse) -> RejectedError:
    """Return the error of an answer without a result, with the server's message."""
    origin = _origin_of(response)
    message = _detail_of(response.body)
    if message is None:
        return RejectedError(f"HTTP {response.status}", UNREADABLE, origin)
    if response.status == 404 and message.startswith(UNKNOWN):
        message += ". Does the service know cameras? (plates serve --cameras)"
    return RejectedError(message, str(response.status), origin)


def to_path(path: str, parameters: Mapping[str, Any]) -> str:
    """Return a path with a query. A list is sent as several values; empty values are left out."""
    pairs = [
        (name, to_text(value))
        for name, values in parameters.items()
        for value in ([values] if _is_single(values) else values)
        if value not in ("", None, 0)
    ]
    return f"{path}?{urlencode(pairs)}" if pairs else path


def to_text(value: object) -> str:
    """Return a value for the API: times with their offset. It reads a date as that whole day."""
    if isinstance(value, datetime):
        return value.astimezone(timezone.utc).isoformat()
    return str(value)


def to_time(text: str) -> datetime:
    """Return an RFC 3339 time."""
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def _origin_of(response: HttpResponse) -> ErrorResponse:
    wait_s = parse_retry_after(response.headers.get("Retry-After"))
    return ErrorResponse(response.status, retry_after_s=wait_s)


def _detail_of(body: bytes) -> str | None:
    """Return the sentence of a problem of RFC 9457; None if it is another page."""
    try:
        return str(json.loads(body)["detail"])
    except (LookupError, TypeError, ValueError):
        return None


def _is_single(value: object) -> bool:
    return isinstance(value, str) or not isinstance(value, Iterable)
