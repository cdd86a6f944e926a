"""Live events of the control room: passes and cameras as they change.

Source: WHATWG HTML, section 9.2, "Server-sent events".
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any, Literal, get_args
from urllib.parse import urlencode

from orchestrator.client.inference import reading
from orchestrator.client.passes import FoundPass, to_time
from orchestrator.errors import ParameterError

PATH = "v1/events"
LAST_ID = "Last-Event-ID"
Kind = Literal["pass.agreed", "pass.updated", "pass.closed", "camera", "reset"]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True)
class LiveCamera:
    """A camera, and what its watcher has told.

    Attributes:
        name: Name of the camera.
        group: Its group.
        state: `playing` or another state of the watcher; `unknown` if none has told for 15 s.
        error: The last fault; empty for none.
        updated: Time at which the watcher told; None if none has.
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
    def of(cls, document: Mapping[str, Any]) -> LiveCamera:
        """Return a camera of the API's answer."""
        updated = document["updated"]
        changed = {"updated": to_time(updated) if updated else None, "document": document}
        values: dict[str, Any] = {**document, **changed}
        return cls(**{one.name: values[one.name] for one in fields(cls)})


@dataclass(frozen=True)
class LiveEvent:
    """A change of a pass or of a camera.

    Attributes:
        kind: `pass.agreed`, `pass.updated`, `pass.closed`, `camera`, or `reset`: events were missed
            that are no longer known, so the passes should be asked for again.
        number: The place after this event, for the option `after`; None if it is not known yet.
        passed: The pass; None for another event.
        camera: The camera; None for another event.
    """

    kind: Kind
    number: int | None = None
    passed: FoundPass | None = None
    camera: LiveCamera | None = None


@dataclass(frozen=True)
class EventSelection:
    """The wanted events.

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

    @property
    def path(self) -> str:
        """The path and query of the stream."""
        query = urlencode([("camera", one) for one in self.cameras])
        return f"{PATH}?{query}" if query else PATH

    @property
    def headers(self) -> dict[str, str]:
        """The headers of the request."""
        place = {} if self.after is None else {LAST_ID: str(self.after)}
        return {"Accept": "text/event-stream", **place}

    def beginning_after(self, number: int | None) -> EventSelection:
        """Return the same selection, from another place."""
        return replace(self, after=number)


@dataclass(frozen=True)
class Block:
    """The fields of one event of a stream.

    Attributes:
        kind: Name of the event; empty if it has none.
        text: Its content; empty if the block only sets the place.
        number: The place after it; None if the stream has told none so far.
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
                return LiveEvent(self.kind, self.number, camera=LiveCamera.of(document))
            return LiveEvent(self.kind, self.number, passed=FoundPass.of(document))


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
