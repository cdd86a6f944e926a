"""Queries and bodies of the REST API, checked and described from here."""

from __future__ import annotations

import re
from datetime import date, datetime
from typing import Annotated, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from plate_cameras.control_room.rest.schemas import Point
from plate_cameras.setting_parts import MAX_AREAS, MAX_POINTS
from plate_cameras.store.finding.pass_query import LIMIT, MAX_NAMES, MAX_PAGE, MAX_PARTS
from plate_cameras.store.lists.list_file import day_bound

DATE, CLOCK, FRACTION = "[0-9]{4}-[0-9]{2}-[0-9]{2}", "[0-9]{2}:[0-9]{2}(:[0-9]{2})?", r"\.[0-9]+"
OFFSET = "[Zz]|[+ -][0-9]{2}:[0-9]{2}"
TIME = re.compile(
    rf"(?P<day>{DATE})([Tt ](?P<clock>{CLOCK})(?P<fraction>{FRACTION})?(?P<offset>{OFFSET})?)?"
)
TIME_PATTERN = rf"^{DATE}([Tt ]{CLOCK}({FRACTION})?({OFFSET})?)?$"
CURSOR = r"^(-?[0-9][0-9.e+-]{0,24}_[0-9]{1,18})?$"
NUMBERED = r"^[0-9]{0,18}$"
MAX_NAME_LENGTH = 200
"""Largest number of characters of a name in a query or a path."""
MAX_TIME_LENGTH = 40
MAX_CURSOR_LENGTH = MAX_NAME_LENGTH
NAMES = 100
"""Things of a page unless the query says otherwise."""


def to_unix(value: object, *, is_end: bool = False) -> object:
    """Return a date or an RFC 3339 time as Unix time.

    A date alone is a day of local time: its start, or its end for an end. A time without an offset
    is UTC.

    Raises:
        ValueError: The text has another form, or there is no such day.
    """
    match = TIME.fullmatch(str(value)[: MAX_TIME_LENGTH + 1])
    if match is None or len(match[0]) > MAX_TIME_LENGTH:
        raise ValueError("wanted an RFC 3339 time or a date")
    try:
        return _moment_of(match, is_end=is_end)
    except ValueError as error:
        raise ValueError("wanted a day and a time that exist") from error


def _moment_of(match: re.Match[str], *, is_end: bool) -> float:
    day, clock, fraction, offset = match.group("day", "clock", "fraction", "offset")
    if clock is None:
        return day_bound(date.fromisoformat(day), is_end=is_end)
    # A plus sign that was not encoded in a query arrives as a space.
    zone = (offset or "Z").upper().replace("Z", "+00:00").replace(" ", "+")
    at = datetime.fromisoformat(f"{day}T{clock}{zone}")
    return at.timestamp() + float(f"0{fraction or '.0'}")


def to_end_unix(value: object) -> object:
    """Return a time as `to_unix`; a date alone stands for the end of its day."""
    return to_unix(value, is_end=True)


UnixTime = Annotated[
    float,
    BeforeValidator(to_unix),
    WithJsonSchema({"type": "string", "pattern": TIME_PATTERN, "maxLength": MAX_TIME_LENGTH}),
]
"""A time of a query or a body: a text for the caller, Unix time for us."""
EndTime = Annotated[
    float,
    BeforeValidator(to_end_unix),
    WithJsonSchema({"type": "string", "pattern": TIME_PATTERN, "maxLength": MAX_TIME_LENGTH}),
]
"""A time at which something ends."""


def to_zone(name: object) -> object:
    """Return a time zone by its IANA name.

    Raises:
        ValueError: There is none of this name.
    """
    try:
        return ZoneInfo(str(name))
    except (ZoneInfoNotFoundError, OSError) as error:
        raise ValueError("wanted a name such as Europe/Moscow") from error


TimeZone = Annotated[
    ZoneInfo, BeforeValidator(to_zone), WithJsonSchema({"type": "string", "maxLength": 100})
]
"""A time zone by its IANA name."""
FileFormat = Literal["json", "csv", "excel"] | None
"""A form of an answer. `excel`: CSV with semicolons, decimal commas and a byte order mark."""
Name = Annotated[str, Field(max_length=MAX_NAME_LENGTH)]
Names = Annotated[tuple[Name, ...], Field(max_length=MAX_NAMES)]
Parts = Annotated[tuple[Name, ...], Field(max_length=MAX_PARTS)]


class Query(BaseModel):
    """Base of queries: each parameter is known, and `reason` goes with all of them."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=False)

    reason: str = Field("", max_length=500, description="The reason of the request, for the audit")


class Period(Query):
    """A query about a time."""

    from_s: UnixTime | None = Field(
        None, alias="from", description="First time, RFC 3339 or a date", examples=["2026-11-25"]
    )
    until_s: EndTime | None = Field(
        None,
        alias="until",
        description="Time after the last one; a date alone counts to its end",
        examples=["2026-11-25"],
    )


class PassesQuery(Period):
    """The search for passes."""

    text: str = Field(
        "",
        max_length=100,
        description="The whole text; `*` stands for any characters, `?` for one. Fewer than eight "
        "characters without these are a part of it, unless they are in double quotes",
        examples=["A123*"],
    )
    parts: Parts = Field(
        (), alias="part", description="Part of the text; may be repeated", examples=[["123"]]
    )
    edits: int = Field(0, ge=0, le=2, description="Most characters that differ", examples=[1])
    cameras: Names = Field(
        (), alias="camera", description="Camera; may be repeated", examples=[["gate"]]
    )
    region_code: str = Field(
        "", alias="region", max_length=10, description="Code of the region", examples=["77"]
    )
    list_name: str = Field(
        "", alias="list", max_length=200, description="List that was hit", examples=["residents"]
    )
    zones: Names = Field(
        (), alias="zone", description="Zone; may be repeated", examples=[["entry"]]
    )
    direction: Literal["", "towards", "away"] = Field(
        "", description="Motion of the vehicle", examples=["towards"]
    )
    limit: int = Field(LIMIT, ge=1, le=MAX_PAGE, description="Most passes of a page", examples=[50])
    cursor: str = Field(
        "",
        max_length=MAX_CURSOR_LENGTH,
        pattern=CURSOR,
        description="`cursor` of the page before",
    )
    format: FileFormat = Field(
        None, description="`csv` or `excel` returns all pages as a file", examples=["json"]
    )
    language: Literal["en", "ru"] | None = Field(
        None, description="Language of a file for people, with its regions", examples=["ru"]
    )
    time_zone: TimeZone | None = Field(
        None,
        description="IANA name of the zone of a file's times; without it they are RFC 3339 in UTC",
        examples=["Europe/Moscow"],
    )


class PassPartsQuery(Query):
    """Parts that are wanted beside a pass."""

    neighbours: bool = Field(
        False, description="Also other passes of the same plate, before and after", examples=[True]
    )


class CountsQuery(Period):
    """The wanted counts."""

    by: Literal["hour", "camera"] = Field(
        "hour", description="What is counted apart", examples=["hour"]
    )
    camera: Names = Field((), description="Camera; may be repeated", examples=[["gate"]])
    offset_minutes: int = Field(
        0, ge=-1440, le=1440, description="Minutes that local time is ahead of UTC", examples=[180]
    )
    limit: int = Field(
        MAX_PAGE, ge=1, le=MAX_PAGE, description="Most counts of a page", examples=[1000]
    )
    cursor: str = Field("", max_length=MAX_CURSOR_LENGTH, description="`cursor` of the page before")


class EventsQuery(Query):
    """The wanted events."""

    camera: Names = Field((), description="Camera; may be repeated", examples=[["gate"]])
    after: int | None = Field(
        None,
        ge=0,
        le=2**53,
        description="Id of the last event that was received; `Last-Event-ID` goes before it",
    )


class PageQuery(Query):
    """A page of a list."""

    limit: int = Field(50, ge=1, le=1000, description="Most entries of a page", examples=[50])
    cursor: str = Field(
        "",
        max_length=MAX_CURSOR_LENGTH,
        pattern=CURSOR,
        description="`cursor` of the page before",
    )


class NamesQuery(Query):
    """A page of things with names."""

    limit: int = Field(NAMES, ge=1, le=MAX_PAGE, description="Most of a page", examples=[100])
    cursor: str = Field("", max_length=MAX_CURSOR_LENGTH, description="`cursor` of the page before")


class AuditPageQuery(Period):
    """A page of the audit."""

    limit: int = Field(50, ge=1, le=1000, description="Most entries of a page", examples=[50])
    cursor: str = Field(
        "",
        max_length=MAX_CURSOR_LENGTH,
        pattern=NUMBERED,
        description="`cursor` of the page before",
    )


class DeletionQuery(Query):
    """The extent of a deletion."""

    entries: bool = Field(False, description="Delete it from all lists, too", examples=[False])


class Body(BaseModel):
    """Base of bodies: each field is known."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ZoneBody(Body):
    """A polygon of a camera's frame."""

    name: Name = Field(description="Its name", examples=["entry"])
    polygon: tuple[Point, ...] = Field(
        max_length=MAX_POINTS, description="Points as parts of width and height"
    )


class LineBody(Body):
    """A line across a camera's frame."""

    name: Name = Field(description="Its name", examples=["barrier"])
    points: tuple[Point, ...] = Field(max_length=2, description="Start and end")


class AreasBody(Body):
    """Drawn areas, which replace those of the file."""

    zones: tuple[ZoneBody, ...] = Field((), max_length=MAX_AREAS, description="Zones")
    lines: tuple[LineBody, ...] = Field((), max_length=MAX_AREAS, description="Lines")
    masks: tuple[ZoneBody, ...] = Field((), max_length=MAX_AREAS, description="Masks")
