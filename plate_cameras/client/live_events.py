"""Live events of the control room: passes and cameras as they change.

Source: WHATWG HTML, section 9.2, "Server-sent events".
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal, get_args

from orchestrator.client.inference import OutgoingRequest, reading
from orchestrator.errors import ParameterError
from plate_cameras.client.pages import to_path, to_record, to_time
from plate_cameras.client.pass_search import PassRecord

PATH = "v1/events"
LAST_ID = "Last-Event-ID"
Kind = Literal["pass.agreed", "pass.updated", "pass.closed", "camera", "reset"]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True)
class CameraReport:
    """The state of a camera, as its watcher has reported it.

    Attributes:
        name: Name of the camera.
        group: Its group.
        state: `playing` or another state of the watcher; `unknown` without a report for 15 s.
        error: The last fault; empty for none.
        updated: Time of the last report; None if there was none.
        delay_s: Delay from the frame to its reading, seconds.
        dropped_share: Share of the frames that were not read.
        document: All fields of the API's answer.
    """

    name: str
    group: str
    state: str
    error: str
    updated: datetime | None
    delay_s: float
    dropped_share: float
    document: Mapping[str, Any]

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> CameraReport:
        """Return a camera of the API's answer."""
        time = to_time(document["updated"]) if document["updated"] else None
        return to_record(cls, document, updated=time, document=document)


@dataclass(frozen=True)
class LiveEvent:
    """A change of a pass or of a camera.

    Attributes:
        kind: `pass.agreed`, `pass.updated`, `pass.closed`, `camera`, or `reset`: events were missed
            that are no longer known, so the passes should be asked for again.
        number: The place after this event, for the option `after`; None if it is not known yet.
        pass_record: The pass; None for another event.
        camera: The camera; None for another event.
    """

    kind: Kind
    number: int | None = None
    pass_record: PassRecord | None = None
    camera: CameraReport | None = None


@dataclass(frozen=True)
class EventSelection:
    """The events that a caller asks for.

    Attributes:
        cameras: Names of cameras; empty for all that the key may see.
        after: The place after which the events begin; None for now.
    """

    cameras: tuple[str, ...] = ()
    after: int | None = None

    @classmethod
    def of(cls, camera: str | Sequence[str], after: int | None) -> EventSelection:
        """Return the selection of a caller's options.

        Raises:
            ParameterError: `after` is no number from 0.
        """
        is_number = isinstance(after, int) and not isinstance(after, bool) and after >= 0
        if after is not None and not is_number:
            raise ParameterError(f"after: wanted a whole number from 0, got {after!r}")
        cameras = (camera,) if isinstance(camera, str) else tuple(camera)
        return cls(tuple(filter(None, cameras)), after)

    def to_request(self) -> OutgoingRequest:
        """Return the request for the stream."""
        place = {} if self.after is None else {LAST_ID: str(self.after)}
        headers = {"Accept": "text/event-stream", **place}
        return OutgoingRequest("GET", to_path(PATH, {"camera": self.cameras}), headers=headers)

    def beginning_after(self, number: int | None) -> EventSelection:
        """Return the same selection, from another place."""
        return replace(self, after=number)


@dataclass(frozen=True)
class Block:
    """The fields of one event of a stream.

    Attributes:
        kind: Name of the event; empty if it has none.
        text: Its content; empty if the block only sets the place.
        number: The place after it; None if the stream has named none so far.
    """

    kind: str
    text: str
    number: int | None

    def to_event(self) -> LiveEvent | None:
        """Return the event; None for a kind that this client does not know.

        Raises:
            RejectedError: The content is no pass and no camera.
        """
        if self.kind not in KINDS:
            return None
        if self.kind == "reset":
            return LiveEvent(self.kind, self.number)
        with reading("events"):
            document = json.loads(self.text)
            if self.kind == "camera":
                return LiveEvent(self.kind, self.number, camera=CameraReport.of(document))
            return LiveEvent(self.kind, self.number, pass_record=PassRecord.of(document))


class BlockReader:
    """Reads the blocks of a stream from its pieces, which may end anywhere.

    Lines end with LF or CRLF. The service sends no lone CR, which the standard also allows.

    Args:
        number: The place at which the stream begins; None if it is not known.
    """

    def __init__(self, number: int | None = None) -> None:
        self._number = number
        self._rest = b""
        self._kind, self._lines = "", list[str]()

    def read(self, piece: bytes) -> Iterator[Block]:
        """Return the blocks that end within the next piece."""
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            text = line.removesuffix(b"\r").decode(errors="replace")
            if text:
                self._read_line(text)
            else:
                yield Block(self._kind, "\n".join(self._lines), self._number)
                self._kind, self._lines = "", []

    def _read_line(self, line: str) -> None:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            self._kind = value
        elif name == "data":
            self._lines.append(value)
        elif name == "id" and value.isascii() and value.isdigit():
            self._number = int(value)
