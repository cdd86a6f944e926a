"""Queries and bodies of the REST API about lists."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from plate_cameras.control_room.rest.queries import (
    MAX_NAME_LENGTH,
    Body,
    EndTime,
    FileFormat,
    NamesQuery,
    Query,
    TimeZone,
    UnixTime,
)
from plate_cameras.store.lists.plate_entries import MAX_NOTE_LENGTH


class EntriesQuery(NamesQuery):
    """The wanted entries of a list."""

    part: str = Field(
        "",
        max_length=MAX_NAME_LENGTH,
        description="Part of the text or of the note",
        examples=["A123"],
    )
    format: FileFormat = Field(
        None, description="`csv` or `excel` returns all entries as a file", examples=["json"]
    )


Doubtful = Annotated[
    bool, Field(description="Take texts that are on no plate, too", examples=[False])
]


class PreviewQuery(Query):
    """The mode of an import that is looked at first."""

    replace: bool = Field(False, description="Delete all other entries", examples=[False])
    time_zone: TimeZone | None = Field(
        None,
        description="IANA name of the zone of the file's days; without it, that of the service",
        examples=["Europe/Moscow"],
    )


class ImportQuery(PreviewQuery):
    """The mode of an import."""

    accept_doubtful: Doubtful = False


class TemplateQuery(Query):
    """The language of an empty file."""

    language: Literal["en", "ru"] = Field("en", description="Language of its columns")


class ListBody(Body):
    """The settings of a list."""

    note: str = Field(
        "", max_length=MAX_NOTE_LENGTH, description="Its purpose", examples=["house 5"]
    )
    retention_days: float | None = Field(
        None, ge=0, le=36500, description="Days that its passes are kept", examples=[90.0]
    )


class EntryBody(Body):
    """A plate of a list."""

    note: str = Field(
        "", max_length=MAX_NOTE_LENGTH, description="Shown with a hit", examples=["flat 12"]
    )
    valid_from: UnixTime | None = Field(
        None, description="First time at which it counts", examples=["2026-11-25"]
    )
    valid_until: EndTime | None = Field(
        None,
        description="Time at which it ends; a date alone counts to its end, in local time",
        examples=["2026-12-25"],
    )
    edits: int = Field(0, ge=0, le=2, description="Characters by which a text may differ")
    accept_doubtful: Doubtful = False
