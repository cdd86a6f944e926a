"""Lists of plates and their entries."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, TypedDict
from urllib.parse import quote

from orchestrator.client.inference import HttpResponse, OutgoingRequest, reading
from plate_cameras.client.pages import (
    PagedQuery,
    check_options,
    read_document,
    to_path,
    to_record,
    to_rejection,
    to_text,
    to_time,
)

PATH = "v1/lists"
PAGE = 200
"""Lists or entries of one request."""


@dataclass(frozen=True)
class ListRecord:
    """A list of plates.

    Attributes:
        name: Its name.
        note: Its purpose.
        retention_days: Days that the passes of its plates are kept; None for the store's own.
        entries: Number of its entries.
        cameras: Names of the cameras that look it up.
    """

    name: str
    note: str
    retention_days: float | None
    entries: int
    cameras: tuple[str, ...]

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> ListRecord:
        """Return a list of the API's answer."""
        return to_record(cls, document, cameras=tuple(document["cameras"]))


@dataclass(frozen=True)
class EntryRecord:
    """A plate of a list.

    Attributes:
        text: Text in Latin look-alikes.
        note: Shown with a hit.
        valid_from: First time at which it counts; None for always.
        valid_until: Time at which the entry ends; None for never.
        edits: Characters by which a text may differ, 0 to 2.
    """

    text: str
    note: str
    valid_from: datetime | None
    valid_until: datetime | None
    edits: int

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> EntryRecord:
        """Return an entry of the API's answer."""
        texts = {name: document[name] for name in ("valid_from", "valid_until")}
        times = {name: to_time(text) if text else None for name, text in texts.items()}
        return to_record(cls, document, **times)


def query_lists() -> PagedQuery[ListRecord]:
    """Return the query for all lists."""
    return PagedQuery(PATH, {"limit": PAGE}, "lists", ListRecord.of)


def query_entries(name: str, part: str, reason: str) -> PagedQuery[EntryRecord]:
    """Return the query for the entries of a list whose text or note has a part."""
    parameters = {"part": part, "reason": reason, "limit": PAGE}
    return PagedQuery(f"{_path_of(name)}/entries", parameters, "entries", EntryRecord.of)


class EntryOptions(TypedDict, total=False):
    """The options of a new entry. `CamerasClient.put_entry` describes each."""

    note: str
    valid_from: datetime | date | str | None
    valid_until: datetime | date | str | None
    edits: int
    accept_doubtful: bool
    reason: str


def write_entry(name: str, text: str, *, reason: str = "", **entry: Any) -> OutgoingRequest:
    """Return the request that adds an entry, or replaces the one with the same text.

    Raises:
        ParameterError: There is no such option.
    """
    check_options("entry", entry, EntryOptions.__annotations__)
    body = {field: _to_plain(value) for field, value in entry.items() if value is not None}
    path = to_path(_path_of(name, text), {"reason": reason})
    return OutgoingRequest(
        "PUT", path, json.dumps(body).encode(), {"Content-Type": "application/json"}
    )


def read_entry(response: HttpResponse) -> EntryRecord:
    """Return the entry that an answer holds.

    Raises:
        RejectedError: The answer holds none. The message is that of the server.
    """
    document = read_document(response, "entries")
    with reading("entries"):
        return EntryRecord.of(document)


def erase_entry(name: str, text: str, reason: str) -> OutgoingRequest:
    """Return the request that removes an entry."""
    return OutgoingRequest("DELETE", to_path(_path_of(name, text), {"reason": reason}))


def check_done(response: HttpResponse) -> None:
    """Check an answer without content.

    Raises:
        RejectedError: The server has done nothing. The message is its own.
    """
    if response.status != 204:
        raise to_rejection(response)


def _path_of(name: str, text: str = "") -> str:
    path = f"{PATH}/{quote(name, safe='')}"
    return f"{path}/entries/{quote(text, safe='')}" if text else path


def _to_plain(value: Any) -> str | int:
    return value if isinstance(value, int) else to_text(value)
