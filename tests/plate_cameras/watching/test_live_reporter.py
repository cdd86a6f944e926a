"""The status of a watch that the control room gets, in a real database."""

import asyncio
import sqlite3
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from orchestrator.plates import Plates
from plate_cameras.background_tasks import BackgroundTasks
from plate_cameras.configuration import Camera, Configuration, Line, Sink, Store, Zone
from plate_cameras.frames import Frame, Xyxy
from plate_cameras.sources.status import SourceStatus
from plate_cameras.store.factory import open_store
from plate_cameras.store.finding.pass_query import Requester
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.writing.live_tables import Areas, DrawnAreas
from plate_cameras.watching.camera_loop import AnsweredFrame, CameraLoop
from plate_cameras.watching.frame_recognizer import FrameRecognizer
from plate_cameras.watching.live_reporter import LiveReporter, to_still
from tests.plate_cameras.gates.known_vehicles import make_gate
from tests.plate_cameras.samples import make_frame
from tests.plate_cameras.watching.fakes import RecordingTracker, ScriptedService, ScriptedStream
from tests.virtual_time import virtually

GATE = Camera("gate", "rtsp://gate", zones=(Zone("file", ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0))),))
DRAWN = Areas(
    zones=(Zone("entry", ((0.0, 0.0), (0.5, 0.0), (0.5, 0.5))),),
    lines=(Line("stop", ((0.0, 0.5), (1.0, 0.5))),),
)


class PlayingStream(ScriptedStream):
    """A stream that always has a frame."""

    status = SourceStatus(state="playing", dropped=3)

    async def wait_for_frame(self) -> bool:
        await asyncio.sleep(0.01)
        return True

    async def next(self) -> Frame:
        return make_frame("gate")


class ReportedLoop:
    """A loop that runs, and its reporter."""

    def __init__(self, store: PassStore) -> None:
        recognizer = FrameRecognizer(ScriptedService(Plates()), at_once=1)
        tracker = RecordingTracker(GATE)
        self.loop = CameraLoop(GATE, PlayingStream(), tracker, recognizer, self._receive)
        self.redraw_count = 0
        self.reporter = LiveReporter(
            store.live,
            lambda: [self.loop],
            self._redraw,
            blur="none",
            watcher="watcher-1",
            find_lists=store.lists.names,
        )

    async def _receive(self, _event: object) -> None: ...

    async def _redraw(self) -> None:
        self.redraw_count += 1

    def run_until(self, is_done: Callable[[], bool]) -> None:
        async def run() -> None:
            tasks = [asyncio.create_task(part.run()) for part in (self.reporter, self.loop)]
            while not is_done():
                await asyncio.sleep(0.01)
                assert not any(task.done() for task in tasks)
            for task in tasks:
                task.cancel()

        _run(run())


def _run(coroutine: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(coroutine, 20))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[PassStore]:
    store_ = open_store(Store(), tmp_path)
    yield store_
    store_.close()


def test_states_and_stills_arrive(store: PassStore) -> None:
    site = ReportedLoop(store)
    site.run_until(lambda: "gate" in store.live.still_times())
    state = store.live.states()["gate"]
    assert state.watcher == "watcher-1"
    assert (state.document["state"], state.document["dropped"]) == ("playing", 3)
    assert abs(state.updated_s - time.time()) < 20
    assert store.live.still("gate").jpeg == make_frame("gate").jpeg


def test_an_error_that_no_database_stores_hides_no_state(store: PassStore) -> None:
    site = ReportedLoop(store)
    site.loop.failure = "half a letter: \ud800"
    site.run_until(lambda: "gate" in store.live.states())
    assert store.live.states()["gate"].document["error"] == "half a letter:"


def test_drawn_areas_replace_those_of_the_file_until_they_are_erased(store: PassStore) -> None:
    site = ReportedLoop(store)
    configuration = Configuration((GATE,))
    assert site.reporter.apply_areas(configuration) == configuration
    store.live.draw("gate", DRAWN, Requester("anna", "-"))
    site.run_until(lambda: site.redraw_count == 1)
    (camera,) = site.reporter.apply_areas(configuration).cameras
    assert Areas.of(camera) == DRAWN
    store.live.erase("gate", Requester("anna", "-"))
    site.run_until(lambda: site.redraw_count == 2)
    assert site.reporter.apply_areas(configuration) == configuration


def test_a_condition_that_no_camera_meets_is_told_when_areas_change(
    store: PassStore, caplog: pytest.LogCaptureFixture
) -> None:
    site, gate = ReportedLoop(store), make_gate(zones=("file",))
    configuration = Configuration((GATE,), gates=(gate,))
    site.reporter.apply_areas(configuration)
    assert caplog.messages == []
    store.live.draw("gate", DRAWN, Requester("anna", "-"))
    _run(site.reporter.load())
    for _ in range(2):
        site.reporter.apply_areas(configuration)
    assert caplog.messages == ["gate north: none of its cameras has the zone file"]


def test_a_sink_whose_list_was_deleted_is_told(
    store: PassStore, caplog: pytest.LogCaptureFixture
) -> None:
    site, sink = ReportedLoop(store), Sink("police", "jsonl", "log.jsonl", lists=("stolen",))
    configuration = Configuration((replace(GATE, lists=("stolen",)),), sinks=(sink,))
    store.lists.create("stolen")
    _run(site.reporter.load())
    site.reporter.apply_areas(configuration)
    assert caplog.messages == []
    store.lists.delete("stolen")
    site.run_until(lambda: site.redraw_count == 1)
    for _ in range(2):
        site.reporter.apply_areas(configuration)
    assert caplog.messages == ["sink police: there is no list stolen"]


def test_a_database_that_is_away_stops_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "passes.db"
    file.mkdir()  # so nothing can be opened there
    store = open_store(Store(url=f"sqlite:///{file}"), tmp_path)
    site = ReportedLoop(store)
    _run(site.reporter.load())
    site.run_until(lambda: site.loop.counts.frames > 100)
    assert caplog.text.count("the control room gets no states") == 1
    file.rmdir()
    open_store(Store(url=f"sqlite:///{file}"), tmp_path).close()  # makes the tables
    site.run_until(lambda: "gate" in store.live.states())
    store.close()


class ScriptedTables:
    """Tables with one drawn area; their calls fail for different reasons."""

    def __init__(self, *, fails: bool = False) -> None:
        self.fails = fails

    def write_states(self, _: object) -> None:
        if self.fails:
            raise sqlite3.OperationalError("no such table: camera_states")

    def write_stills(self, _: object) -> None: ...

    def area_versions(self) -> dict[str, tuple[int, float]]:
        if self.fails:
            raise sqlite3.OperationalError("no such table: camera_areas")
        return {"gate": (1, 0.0)}

    def areas(self) -> dict[str, DrawnAreas]:
        return {"gate": DrawnAreas(Areas(), 1, 0.0, "anna")}


async def report(tables: ScriptedTables, redraw: Callable[[], Awaitable[None]]) -> None:
    """Report for half a minute."""
    tasks = BackgroundTasks()
    tasks.start("live reporter", LiveReporter(tables, tuple, redraw).run)  # type: ignore[arg-type]
    await asyncio.sleep(30)
    await tasks.stop()


@virtually
async def test_several_reasons_of_one_fault_are_told_once(caplog: pytest.LogCaptureFixture) -> None:
    async def redraw() -> None: ...

    await report(ScriptedTables(fails=True), redraw)
    assert len(caplog.messages) == 1


@virtually
async def test_areas_that_could_not_be_taken_over_are_taken_over_later() -> None:
    failures, redraws = [OSError("no descriptors")], list[bool]()

    async def redraw() -> None:
        if failures:
            raise failures.pop()
        redraws.append(True)

    await report(ScriptedTables(), redraw)
    assert redraws == [True]


def show(picture: np.ndarray, blur: str, *boxes: Xyxy) -> np.ndarray:
    """Return the still of a frame."""
    height, width = picture.shape[:2]
    jpeg = cv2.imencode(".jpg", picture)[1].tobytes()
    still = to_still(
        AnsweredFrame(Frame("gate", 1, 0.0, "wall", jpeg, (width, height)), boxes), blur
    )
    return cv2.imdecode(np.frombuffer(still, np.uint8), cv2.IMREAD_COLOR)


@pytest.mark.parametrize(
    ("width", "still_width"), [(1280, 1280), (1920, 960), (2560, 1280), (3840, 960)]
)
def test_a_still_is_at_most_1280_pixels_wide(width: int, still_width: int) -> None:
    assert show(np.full((width // 4, width, 3), 128, np.uint8), "none").shape[1] == still_width


def test_a_damaged_frame_gives_no_still() -> None:
    frame = Frame("gate", 1, 0.0, "wall", b"no jpeg", (1920, 1080))
    assert to_still(AnsweredFrame(frame, ()), "none") == b""


def test_a_still_hides_the_plates_of_its_frame() -> None:
    noise = np.random.default_rng(1).integers(0, 255, (1080, 1920, 3), np.uint8)
    still = show(noise, "plates", (200.0, 400.0, 400.0, 440.0))
    assert still.shape == (540, 960, 3)
    assert still[202:218, 102:198].std() < 3
    assert still[402:418, 102:198].std() > 20
