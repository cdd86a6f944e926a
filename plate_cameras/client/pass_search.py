"""Searches for stored passes, and the passes that they find."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, TypedDict

from plate_cameras.client.pages import PagedQuery, check_options, to_record, to_time

PATH = "v1/passes"
PAGE = 200
"""Passes of one request, unless the caller says otherwise."""
NAMES = {"since": "from", "plate_list": "list", "page": "limit"}
"""Parameters of the API by our names, where they differ."""


class SearchOptions(TypedDict, total=False):
    """The options of a search for passes. All conditions must hold.

    Attributes:
        text: The whole text; `*` stands for any characters, `?` for one. Fewer than eight
            characters without these are a part of it, unless they are in double quotes.
        part: Parts that the text has.
        edits: Most characters by which the text may differ, 0 to 2.
        camera: Names of cameras.
        since: First time; without a time zone, it is this machine's local time. A date is a day of
            the service's local time. Texts are RFC 3339.
        until: Time after the last one; a date counts to its end.
        region: Code of the region.
        plate_list: Name of a list that was hit.
        zone: Names of zones.
        direction: `towards` or `away`.
        reason: The reason, which the service's audit records.
        page: Passes of one request; 200 without it.
    """

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


def query_passes(options: Mapping[str, Any]) -> PagedQuery[PassRecord]:
    """Return the query for the passes that fit a caller's `SearchOptions`.

    Raises:
        ParameterError: There is no such option.
    """
    check_options("search", options, SearchOptions.__annotations__)
    parameters = {NAMES.get(name, name): value for name, value in options.items()}
    parameters.setdefault("limit", PAGE)
    return PagedQuery(PATH, parameters, "passes", PassRecord.of)


@dataclass(frozen=True)
class PassRecord:
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
    def of(cls, document: Mapping[str, Any]) -> PassRecord:
        """Return a pass of the API's answer."""
        return to_record(
            cls,
            document,
            first_seen=to_time(document["first_seen"]),
            last_seen=to_time(document["last_seen"]),
            zones=tuple(document["zones"]),
            lists=tuple(hit["list"] for hit in document["lists"]),
            document=document,
        )
