"""One part that fails affects no other part, and comes back.

A watch has two cameras, gates and sinks. A part of the first one raises an exception while vehicles
stand before both cameras. Then it works again, and other vehicles stand there.
"""

from __future__ import annotations

import asyncio
import errno
import inspect
import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import sqlalchemy as sa

from orchestrator.plates import Plates
from plate_cameras.clocks import steady_s, unix_s
from plate_cameras.configuration import Camera, Configuration, Sink, Store
from plate_cameras.frames import Frame
from plate_cameras.gates import gate_thread
from plate_cameras.gates.controller import GateController
from plate_cameras.gates.relay import OpeningRequest
from plate_cameras.service.pass_table import PassTable
from plate_cameras.service.printing import Output
from plate_cameras.service.session import Session, Watch
from plate_cameras.setting_parts import Gate
from plate_cameras.sinks.json_lines import JsonLinesReceiver
from plate_cameras.sources.status import SourceStatus
from plate_cameras.store.factory import open_store
from plate_cameras.store.lists.list_lookup import ListEntry
from plate_cameras.store.openings.opening_log import OpeningLog
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.store_parts import KeptFrames
from plate_cameras.tracking.pass_tracker import PassTracker
from plate_cameras.watching import live_reporter
from plate_cameras.watching.status import CameraStatus
from tests.plate_cameras.passing import plate
from tests.plate_cameras.streams import wait

QUIET = PassTable(is_json=False, is_all=False)
CAMERAS, SINKS, GATES = ("gate", "yard"), ("one", "two"), ("north", "south")
VEHICLES = ("A123BC77", "M456OP77"), ("E234KX77", "T567MH77")
"""The vehicles before both cameras while a part fails, and those after it."""
ERRORS = (
    ValueError("a wrong value"),
    KeyError("a missing key"),
    MemoryError("no memory"),
    OSError(errno.ENOSPC, "No space left on device"),
    sa.exc.OperationalError("SELECT 1", {}, Exception("the database is broken")),
    UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates not allowed"),
)
JPEGS = {
    name: cv2.imencode(".jpg", np.full((240, 320, 3), shade, np.uint8))[1].tobytes()
    for name, shade in zip(CAMERAS, (50, 150), strict=True)
}
NAMES = {jpeg: name for name, jpeg in JPEGS.items()}


@dataclass
class Site:
    """Cameras, the service and the relays.

    Attributes:
        texts: The plate before each camera; empty for none.
        opened: Gates and texts for which their relays were asked.
        error: The exception of the part that fails; None while it works.
    """

    texts: dict[str, str] = field(default_factory=lambda: dict.fromkeys(CAMERAS, ""))
    opened: list[tuple[str, str]] = field(default_factory=list)
    error: Exception | None = None
    raised: int = 0

    def open(self, camera: Camera) -> Stream:
        return Stream(camera)

    async def recognize(self, picture: bytes, *, roi: object = None) -> Plates:
        del roi
        text = self.texts[NAMES[picture]]
        middle = (80, 60) if text in VEHICLES[0] else (240, 180)
        return Plates((plate(middle, text, 0.95),) if text else ())

    async def is_ready(self) -> bool:
        return True

    def fail(self, part: Any) -> None:
        """Raise the exception if a call is of the first camera, gate or sink."""
        if self.error and part in (CAMERAS[0], SINKS[0], GATES[0], VEHICLES[0][0], None):
            self.raised += 1
            raise self.error


class Stream:
    """A camera that gives ten frames a second."""

    status = SourceStatus(state="playing")

    def __init__(self, camera: Camera) -> None:
        self.camera, self._numbers = camera, itertools.count()

    async def wait_for_frame(self) -> bool:
        await asyncio.sleep(0.1)
        return True

    async def next(self) -> Frame | None:
        name = self.camera.name
        number, jpeg = next(self._numbers), JPEGS[name]
        return Frame(name, number, unix_s(), "wall", jpeg, (320, 240), steady_s=steady_s())

    async def close(self) -> None: ...
    def configure(self, camera: Camera) -> None: ...


class RecordingRelay:
    needs_off = False

    def __init__(self, gate: Gate, site: Site) -> None:
        self.gate, self._site = gate, site

    async def prepare(self) -> None: ...
    async def switch_on(self, request: OpeningRequest) -> None:
        self._site.opened.append((self.gate.name, request.text))

    async def switch_off(self) -> None: ...
    async def close(self) -> None: ...


@dataclass(frozen=True)
class Fault:
    """A function that fails.

    Attributes:
        owner: Its class or module.
        part_of: Returns the camera, gate or sink of a call, from its arguments.
        affects: What does not work meanwhile: cameras, gates or sinks; `opening`, `still` and
            `state` are those of the first camera.
    """

    owner: Any
    name: str
    part_of: Callable[..., Any]
    affects: tuple[str, ...] = ()


FAULTS = [
    Fault(Stream, "wait_for_frame", lambda stream: stream.camera.name, ("gate",)),
    Fault(Stream, "next", lambda stream: stream.camera.name, ("gate",)),
    Fault(Site, "recognize", lambda _, picture, **__: NAMES[picture], ("gate",)),
    Fault(PassTracker, "update", lambda _, frame, *__: frame.camera, ("gate",)),
    Fault(Session, "_receive", lambda _, event: event.vehicle_pass.camera, ("gate",)),
    Fault(Output, "show_opening", lambda _, opening: opening.gate),
    Fault(PassTable, "to_lines", lambda _, event: event.vehicle_pass.camera),
    Fault(GateController, "offer", lambda _, event: event.vehicle_pass.camera, ("opening",)),
    Fault(GateController, "_decide", lambda _, gate, *__: gate.name, ("north",)),
    Fault(RecordingRelay, "switch_on", lambda relay, *_: relay.gate.name, ("north",)),
    Fault(RecordingRelay, "prepare", lambda relay: relay.gate.name),
    Fault(OpeningLog, "begin", lambda _, opening, *__: opening.gate),
    Fault(OpeningLog, "write", lambda *_: None),
    Fault(OpeningLog, "_replay", lambda *_: None),
    Fault(JsonLinesReceiver, "send", lambda sink, *_: sink._path.stem, ("one",)),
    Fault(KeptFrames, "_keep", lambda _, pass_id, best: NAMES[best.frame_jpeg]),
    Fault(live_reporter, "to_still", lambda frame, *_: frame.frame.camera, ("still",)),
    Fault(CameraStatus, "of", lambda loop: loop.camera.name, ("state",)),
]


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Site:
    new_site = Site()
    monkeypatch.setattr(gate_thread, "make_relay", lambda gate: RecordingRelay(gate, new_site))
    monkeypatch.setattr(live_reporter, "STILLS_S", 0.3)
    return new_site


@pytest.fixture
def store(tmp_path: Path) -> Iterator[PassStore]:
    with closing(open_store(Store(keep_frames=True), tmp_path)) as new_store:
        new_store.writer.prepare()
        new_store.lists.save("residents", "", None)
        texts = [text for vehicles in VEHICLES for text in vehicles]
        new_store.lists.put("residents", [ListEntry(text) for text in texts])
        yield new_store


def configuration_of(folder: Path) -> Configuration:
    return Configuration(
        tuple(Camera(name, f"rtsp://{name}") for name in CAMERAS),
        sinks=tuple(
            Sink(name, "jsonl", str(folder / f"{name}.jsonl"), ("agreed",)) for name in SINKS
        ),
        gates=tuple(
            Gate(name, "http", "http://relay", CAMERAS, ("residents",), open_s=0.1, pulse_s=0.1)
            for name in GATES
        ),
    )


def break_part(site: Site, fault: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a function fail while the site has an error."""
    whole = getattr(fault.owner, fault.name)
    if inspect.iscoroutinefunction(whole):

        async def call_soon(*args: Any, **options: Any) -> Any:
            site.fail(fault.part_of(*args, **options))
            return await whole(*args, **options)

        monkeypatch.setattr(fault.owner, fault.name, call_soon)
        return

    def call(*args: Any, **options: Any) -> Any:
        site.fail(fault.part_of(*args, **options))
        return whole(*args, **options)

    monkeypatch.setattr(fault.owner, fault.name, call)


def delivered(folder: Path) -> set[tuple[str, str]]:
    """Return the sinks and texts of the delivered events."""
    files = [file for file in folder.glob("*.jsonl") if file.stem in SINKS]
    return {
        (file.stem, json.loads(line)["data"]["text"])
        for file in files
        for line in file.read_text().splitlines()
    }


async def drive_up(
    site: Site, store: PassStore, folder: Path, vehicles: tuple[str, ...], without: Sequence[str]
) -> None:
    """Let a vehicle stand before each camera, and wait for all that comes of it.

    Nothing is expected of the parts `without`, see `Fault`.
    """
    begun_s = unix_s()
    site.texts.update(zip(CAMERAS, vehicles, strict=True))
    texts = [text for name, text in zip(CAMERAS, vehicles, strict=True) if name not in without]
    openings = {*itertools.product([name for name in GATES if name not in without], texts)}
    openings -= {(gate, vehicles[0]) for gate in GATES if "opening" in without}
    await wait(lambda: openings <= {*site.opened}, f"the openings {openings}")
    deliveries = {*itertools.product([name for name in SINKS if name not in without], texts)}
    await wait(lambda: deliveries <= delivered(folder), f"the deliveries {deliveries}")
    with_still = {*CAMERAS} - {"gate" for part in ("gate", "still") if part in without}
    await wait(
        lambda: all(store.live.still_times().get(name, 0.0) > begun_s for name in with_still),
        f"stills of {with_still}",
    )
    with_state = {*CAMERAS} - {"gate" for part in ("state",) if part in without}
    await wait(
        lambda: all(
            name in states and states[name].updated_s > begun_s
            for states in [store.live.states()]
            for name in with_state
        ),
        f"states of {with_state}",
    )


@pytest.mark.server
@pytest.mark.parametrize(
    ("fault", "error"),
    [
        pytest.param(fault, error, id=f"{fault.owner.__name__}.{fault.name} {type(error).__name__}")
        for fault, error in zip(FAULTS, itertools.cycle(ERRORS), strict=False)
    ],
)
async def test_one_part_that_fails_affects_no_other_and_comes_back(
    site: Site,
    store: PassStore,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    fault: Fault,
    error: Exception,
) -> None:
    break_part(site, fault, monkeypatch)
    plan = Watch(configuration_of(tmp_path), None, site, 4, QUIET, store)  # type: ignore[arg-type]
    session = Session(plan, site)  # type: ignore[arg-type]
    running = asyncio.create_task(session.run())
    try:
        site.error = error
        await drive_up(site, store, tmp_path, VEHICLES[0], fault.affects)
        assert site.raised
        site.error = None
        await drive_up(site, store, tmp_path, VEHICLES[1], ())
        assert not running.done()
        assert session._health.find_dead() == []
        assert type(error).__name__ in caplog.text or str(error) in caplog.text
    finally:
        running.cancel()
        await asyncio.wait({running})
