"""Queries, bodies and answers of the REST API about lists."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from orchestrator.serving.gateway.extension import Model
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
from plate_cameras.control_room.rest.schemas import Text
from plate_cameras.passes import to_rfc3339
from plate_cameras.store.lists.list_lookup import ListEntry
from plate_cameras.store.lists.plate_entries import MAX_NOTE_LENGTH


class ListAnswer(Model):
    """A list of plates."""

    name: str = Field(description="Its name", examples=["residents"])
    note: str = Field(description="Its purpose", examples=["house 5"])
    retention_days: float | None = Field(description="Days that its passes are kept, or null")
    entries: int = Field(description="Number of its entries", examples=[12])
    cameras: tuple[str, ...] = Field(description="Cameras that look it up", examples=[["gate"]])


class ListsAnswer(Model):
    """Lists, by name."""

    lists: tuple[ListAnswer, ...] = Field(description="The lists")
    cursor: str = Field(description='Value of `cursor` for the next page; "" after the last')


class EntryAnswer(Model):
    """A plate of a list."""

    text: Text
    note: str = Field(description="Shown with a hit", examples=["flat 12"])
    valid_from: str | None = Field(description="RFC 3339, or null for always")
    valid_until: str | None = Field(description="RFC 3339, or null for always")
    edits: int = Field(description="Characters by which a text may differ", examples=[0])


def to_entry(entry: ListEntry) -> EntryAnswer:
    """Return the answer about an entry."""
    return EntryAnswer(
        text=entry.text,
        note=entry.note,
        valid_from=None if entry.valid_from_s is None else to_rfc3339(entry.valid_from_s),
        valid_until=None if entry.valid_until_s is None else to_rfc3339(entry.valid_until_s),
        edits=entry.edits,
    )


class EntriesAnswer(Model):
    """The entries of a list, by text."""

    entries: tuple[EntryAnswer, ...] = Field(description="The entries")
    cursor: str = Field(description='Value of `cursor` for the next page; "" after the last')


class Imported(Model):
    """The answer to an import."""

    imported: int = Field(description="Number of entries", examples=[3])


class DoubtfulRow(Model):
    """A row of a file that is wrong, or whose text is on no plate."""

    line: int = Field(description="Its line", examples=[3])
    text: str = Field(description="Its plate as it was written", examples=["AO12BC77"])
    problem: str = Field(description="The reason")


class PreviewAnswer(Model):
    """The effect that an import would have. Lists of rows have at most 100 of them."""

    rows: int = Field(description="Rows of the file that are not empty", examples=[3])
    added: int = Field(description="Number of new entries", examples=[2])
    changed: int = Field(description="Number of entries that become others", examples=[0])
    removed: int = Field(description="Number of entries that would go", examples=[0])
    wrong_rows: int = Field(description="Number of wrong rows: nothing is imported", examples=[0])
    doubtful_rows: int = Field(
        description="Number of rows that only `accept_doubtful` takes", examples=[1]
    )
    wrong: tuple[DoubtfulRow, ...] = Field(description="The first wrong rows")
    doubtful: tuple[DoubtfulRow, ...] = Field(description="The first doubtful rows")
    entries: tuple[EntryAnswer, ...] = Field(description="The entries of the first rows")


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
