"""Passes that the service has stored: searches of the control room's REST API."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import date, datetime, timezone
from typing import Any, TypedDict
from urllib.parse import urlencode

from orchestrator.client.error_mapping import UNREADABLE, RejectedError, parse_retry_after
from orchestrator.client.inference import HttpResponse, reading
from orchestrator.errors import ErrorResponse, ParameterError

PATH = "v1/passes"
PAGE = 200
"""Passes of one request, unless the caller says otherwise."""
NAMES = {"since": "from", "plate_list": "list", "page": "limit"}
"""Parameters of the API by our names, where they differ."""
UNKNOWN = "no such path"


class SearchOptions(TypedDict, total=False):
    """The options of a search. `PassSearch` describes each."""

    text: str
    part: str | Sequence[str]
    edits: int
    camera: str | Sequence[str]
    since: datetime | date | str | None
    until: datetime | date | str | None
    region: str
    plate_list: str
    zone: str | Sequence[str]
    direction: str
    reason: str
    page: int


@dataclass(frozen=True)
class PassSearch:
    """A search for passes. Each condition that is given must hold.

    Attributes:
        text: The whole text; `*` stands for any characters, `?` for one.
        part: Parts that the text has.
        edits: Most characters by which the text may differ, 0 to 2.
        camera: Names of cameras.
        since: First time; without a time zone, it is local time. Texts are RFC 3339.
        until: Time after the last one.
        region: Code of the region.
        plate_list: Name of a list that was hit.
        zone: Names of zones.
        direction: `towards` or `away`.
        reason: The reason, which the service's audit records.
        page: Passes of one request.
    """

    text: str = ""
    part: str | Sequence[str] = ()
    edits: int = 0
    camera: str | Sequence[str] = ()
    since: datetime | date | str | None = None
    until: datetime | date | str | None = None
    region: str = ""
    plate_list: str = ""
    zone: str | Sequence[str] = ()
    direction: str = ""
    reason: str = ""
    page: int = PAGE

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> PassSearch:
        """Return the search of a caller's options.

        Raises:
            ParameterError: There is no such option.
        """
        known = [one.name for one in fields(cls)]
        if unknown := sorted(set(options) - set(known)):
            raise ParameterError(f"search: wanted some of {', '.join(known)}, got {unknown[0]}")
        return cls(**options)

    def to_path(self, cursor: str) -> str:
        """Return the path and query of a page."""
        pairs: list[tuple[str, str]] = []
        for one in fields(self):
            value = getattr(self, one.name)
            values: Iterable[Any] = [value] if _is_single(value) else value
            name = NAMES.get(one.name, one.name)
            pairs += [(name, _to_text(value)) for value in values if value not in ("", None, 0)]
        return f"{PATH}?{urlencode([*pairs, *([('cursor', cursor)] if cursor else [])])}"


@dataclass(frozen=True)
class FoundPass:
    """A vehicle that passed a camera.

    Attributes:
        id: Id of the pass. Ids sort by their time of creation.
        camera: Name of the camera.
        progress: `agreed`, or `closed` when the vehicle has left.
        first_seen: Time of the first frame.
        last_seen: Time of the last frame.
        clock: The clock of both times: `stream`, `wall` or `file`.
        text: Text in Latin look-alikes; `""` when unreadable.
        text_native: `text` in the letters on the plate.
        text_score: In [0, 1], the calibrated probability of `text`.
        format: Name of the plate format, `""` for none.
        region_code: Code of the region.
        region: Name of the region.
        direction: `towards`, `away` or `""`.
        zones: Zones in which the plate was seen.
        frames: Number of readings.
        lists: Names of the lists that it has hit.
        crop: Path of the plate's picture on the server; None without one.
        frame: Path of the whole frame on the server.
        document: All fields of the API's answer.
    """

    id: str
    camera: str
    progress: str
    first_seen: datetime
    last_seen: datetime
    clock: str
    text: str
    text_native: str
    text_score: float
    format: str
    region_code: str
    region: str
    direction: str
    zones: tuple[str, ...]
    frames: int
    lists: tuple[str, ...]
    crop: str | None
    frame: str | None
    document: Mapping[str, Any]

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> FoundPass:
        """Return a pass of the API's answer."""
        changed: dict[str, Any] = {
            "first_seen": to_time(document["first_seen"]),
            "last_seen": to_time(document["last_seen"]),
            "zones": tuple(document["zones"]),
            "lists": tuple(one["list"] for one in document["lists"]),
            "document": document,
        }
        values: dict[str, Any] = {**document, **changed}
        return cls(**{one.name: values[one.name] for one in fields(cls)})


@dataclass(frozen=True)
class FoundPage:
    """A page of a search.

    Attributes:
        passes: The passes.
        cursor: The place after them; `""` after the last page.
    """

    passes: tuple[FoundPass, ...]
    cursor: str


def read_page(response: HttpResponse) -> FoundPage:
    """Return the page that an answer holds.

    Raises:
        RejectedError: The answer holds none. The message is that of the server.
    """
    with reading("passes", _origin_of(response)):
        if response.status == 200:
            table = json.loads(response.body)
            return FoundPage(tuple(map(FoundPass.of, table["passes"])), table["cursor"])
    raise to_rejection(response)


def to_rejection(response: HttpResponse) -> RejectedError:
    """Return the error of an answer without the wanted result, with the server's message."""
    origin = _origin_of(response)
    message = _detail_of(response.body)
    if message is None:
        return RejectedError(f"HTTP {response.status}", UNREADABLE, origin)
    if response.status == 404 and message.startswith(UNKNOWN):
        message += ". Does the service know cameras? (plates serve --cameras)"
    return RejectedError(message, str(response.status), origin)


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


def _to_text(value: object) -> str:
    if isinstance(value, datetime):
        return value.astimezone(timezone.utc).isoformat()
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day).astimezone(timezone.utc).isoformat()
    return str(value)
