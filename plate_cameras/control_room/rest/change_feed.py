"""Hands the changes of passes and cameras to all listeners of this process."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property

from plate_cameras.background_tasks import make_note
from plate_cameras.clocks import is_set_within, steady_s
from plate_cameras.control_room.endpoint import ControlRoom
from plate_cameras.control_room.rest.cameras import read_cameras
from plate_cameras.control_room.rest.documents import to_pass
from plate_cameras.control_room.rest.schemas import CameraAnswer
from plate_cameras.store.finding.change_log import ChangeReader, PassChange
from plate_cameras.store.finding.pass_query import StoredHit
from plate_cameras.store.scope import Scope

POLL_S = 0.5
CAMERAS_S = 2.0
MAX_WAITING = 2000
"""Events that wait for one listener. A listener that reads more slowly is dropped."""


@dataclass(frozen=True)
class Notice:
    """An event for listeners.

    Attributes:
        show: Returns its JSON with some of its hits.
        number: Number of the change; None for events of cameras.
        settled_number: A listener that has this event may begin again after this number.
    """

    kind: str
    camera: str
    show: Callable[[tuple[StoredHit, ...]], bytes] = field(repr=False)
    number: int | None = None
    settled_number: int | None = None
    hits: tuple[StoredHit, ...] = ()

    def to_sse(self, scope: Scope) -> bytes:
        """Return the event as a server sends it to listeners with a scope."""
        hits = tuple(hit for hit in self.hits if scope.uses(hit.list))
        return self._whole if hits == self.hits else self._render(hits)

    @cached_property
    def _whole(self) -> bytes:
        """The event with all hits, made once for all listeners."""
        return self._render(self.hits)

    def _render(self, hits: tuple[StoredHit, ...]) -> bytes:
        number = b"" if self.settled_number is None else b"id: %d\n" % self.settled_number
        return number + b"event: %b\ndata: %b\n\n" % (self.kind.encode(), self.show(hits))

    @classmethod
    def of(cls, change: PassChange) -> Notice:
        """Return the event of a change."""

        def show(hits: tuple[StoredHit, ...]) -> bytes:
            return to_pass(change.found_pass, hits).to_json()

        kind, camera = f"pass.{change.kind}", change.found_pass.camera
        return cls(kind, camera, show, change.number, change.settled, change.hits)

    @classmethod
    def of_camera(cls, camera: CameraAnswer) -> Notice:
        """Return the event of a camera."""
        return cls("camera", camera.name, lambda _: camera.to_json())


class Listener:
    """Events on their way to one caller."""

    def __init__(self) -> None:
        self._notices = deque[Notice]()
        self._is_there = asyncio.Event()
        self.has_ended = False

    def offer(self, notice: Notice) -> None:
        """Queue an event; a caller that is too slow is dropped."""
        if len(self._notices) >= MAX_WAITING:
            self.end()
        if not self.has_ended:
            self._notices.append(notice)
            self._is_there.set()

    def end(self) -> None:
        """End the stream. The caller connects again, and begins where it was."""
        self.has_ended = True
        self._notices.clear()
        self._is_there.set()

    async def next(self, timeout_s: float) -> list[Notice]:
        """Return the events that wait; none if there are none in time or the stream has ended."""
        if not await is_set_within(self._is_there, timeout_s):
            return []
        if not self.has_ended:
            self._is_there.clear()
        notices, self._notices = self._notices, deque()
        return [*notices]


class ChangeFeed:
    """Polls the database while there are listeners, once for all of them."""

    def __init__(self, room: ControlRoom) -> None:
        self._room = room
        self._listeners = set[Listener]()
        self._is_wanted = asyncio.Event()
        self._lock = asyncio.Lock()
        self._reader: ChangeReader | None = None
        self._cameras: dict[str, CameraAnswer] = {}
        self._cameras_s = float("-inf")
        self._note = make_note("live events wait")

    async def run(self) -> None:
        """Serve listeners until the task is cancelled; then end their streams."""
        try:
            while True:
                await self._is_wanted.wait()
                await self._poll()
                await asyncio.sleep(POLL_S)
        finally:
            for listener in [*self._listeners]:
                listener.end()

    @contextmanager
    def listen(self) -> Iterator[Listener]:
        """Hand all events to a listener while the block runs."""
        listener = Listener()
        if not self._listeners:
            self._reader = None  # nobody has polled for a while
        self._listeners.add(listener)
        self._is_wanted.set()
        try:
            yield listener
        finally:
            self._listeners.discard(listener)
            if not self._listeners:
                self._is_wanted.clear()

    async def find_settled_number(self) -> int:
        """Return the number up to which all changes are known. From now on, none is missed."""
        async with self._lock:
            if self._reader is None:
                changes = self._room.store.changes
                self._reader = await self._room.threads.run(lambda: ChangeReader(changes))
                self._cameras = {}
            return self._reader.settled

    async def _poll(self) -> None:
        failure: Exception | None = None
        for step in (self.find_settled_number, self._poll_passes, self._poll_cameras):
            try:
                await step()
            except Exception as error:  # listeners wait until the database is back
                failure = error
        self._note(failure)

    async def _poll_passes(self) -> None:
        reader = self._reader
        if reader is not None:
            changes = await self._room.threads.run(reader.read)
            if reader is self._reader:  # else all listeners have begun after it
                for change in changes:
                    self._tell(Notice.of(change))

    async def _poll_cameras(self) -> None:
        if steady_s() - self._cameras_s < CAMERAS_S:
            return
        self._cameras_s = steady_s()
        before, room = self._cameras, self._room
        self._cameras = await room.threads.run(lambda: read_cameras(room))
        for name, camera in self._cameras.items():
            if name in before and _state_of(camera) != _state_of(before[name]):
                self._tell(Notice.of_camera(camera))

    def _tell(self, notice: Notice) -> None:
        for listener in [*self._listeners]:
            listener.offer(notice)


def _state_of(camera: CameraAnswer) -> tuple[object, ...]:
    """Return the values whose change is an event. The counts of a camera change all the time."""
    return camera.state, camera.error, camera.watcher, camera.zones, camera.lines, camera.masks
