"""Passes as lines for people, or as JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta

from orchestrator.cli.recognition.plate_table import to_printable
from plate_cameras.passes import Pass, PassEvent, to_document

LINE = "{:<19}  {:<10} {:>5}  {:<8} {:>6}  {}".format
HEAD = LINE("first seen", "plate", "score", "moves", "frames", "camera")
UNREAD = "?"


class PassTable:
    """Turns events into lines. Without JSON, only passes that have ended have a line.

    Args:
        is_json: Lines are JSON documents, one for each event.
        is_all: Passes whose plate cannot be read have lines, too.
    """

    def __init__(self, *, is_json: bool, is_all: bool) -> None:
        self._is_json = is_json
        self._is_all = is_all
        self._has_head = False
        self._read_count = 0
        self._unread_count = 0

    def to_lines(self, event: PassEvent) -> Iterator[str]:
        """Yield the lines of an event, and the head before the first."""
        if event.kind == "closed":
            self._read_count += bool(event.vehicle_pass.text)
            self._unread_count += not event.vehicle_pass.text
        if not event.vehicle_pass.text and not self._is_all:
            return
        if self._is_json:
            yield json.dumps(to_document(event), ensure_ascii=False)
        elif event.kind == "closed":
            if not self._has_head:
                self._has_head = True
                yield HEAD
            yield _to_row(event.vehicle_pass)

    def summarize(self) -> str:
        """Return how many passes there were."""
        noun = "pass" if self._read_count == 1 else "passes"
        count = self._unread_count
        more = f", and {count} whose plate cannot be read" if count else ""
        return f"{self._read_count} {noun}{more}"


def _to_row(vehicle_pass: Pass) -> str:
    return LINE(
        format_time(vehicle_pass.first_seen_s, vehicle_pass.clock),
        vehicle_pass.text or UNREAD,
        f"{vehicle_pass.text_score:.2f}",
        vehicle_pass.direction or "-",
        len(vehicle_pass.observations),
        to_printable(vehicle_pass.camera),
    )


def format_time(time_s: float, clock: str) -> str:
    """Return a time for people: the local date and time, or the time from a file's start."""
    if clock == "file":
        return str(timedelta(seconds=round(time_s)))
    return datetime.fromtimestamp(time_s).isoformat(" ", timespec="seconds")
