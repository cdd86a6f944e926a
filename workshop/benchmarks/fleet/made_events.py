"""Events of passes at the rate of many cameras."""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from orchestrator.plates import Plate
from plate_cameras.configuration import Camera
from plate_cameras.passes import BestFrame, Observation, Pass, PassEvent
from plate_cameras.tracking.pass_tracker import new_pass_id
from workshop.benchmarks.passes_store.made_passes import make_vehicles

VEHICLES = 50_000
CROP_BYTES = 8_000
SEEN_S, LOOKS = 3.0, 8
UPDATED_S, UPDATED_LOOKS = 1.5, 5
BOX = (812.4, 600.1, 971.9, 640.7)
TICK_S = 0.05


@dataclass
class Traffic:
    """Cameras with one pass each in `every_s`, at random times.

    Attributes:
        cameras: Number of cameras.
        every_s: Mean time between two passes of a camera.
        made: Number of passes so far.
        cpu_s: CPU time that making them took, which no real watcher needs.
    """

    cameras: int
    every_s: float
    made: int = 0
    cpu_s: float = 0.0
    _rng: random.Random = field(default_factory=lambda: random.Random(0))
    _vehicles: list[tuple[str, str, str]] = field(default_factory=list)

    def configured(self) -> list[Camera]:
        """Return the cameras."""
        return [Camera(f"camera {number:04d}", "rtsp://camera") for number in range(self.cameras)]

    async def events(self, seconds: float) -> AsyncIterator[PassEvent]:
        """Yield `agreed`, `updated` and `closed` of each pass at their times."""
        with self._counted():
            self._vehicles = make_vehicles(VEHICLES, self._rng)
        started = time.monotonic()
        updates, ends = deque[tuple[float, Pass]](), deque[tuple[float, Pass]]()
        while (now := time.monotonic() - started) < seconds or ends:
            with self._counted():
                agreed = [self._make() for _ in range(self._due(min(now, seconds)))]
                events = [PassEvent("agreed", one) for one in agreed]
                updates += [(now + UPDATED_S, one) for one in agreed]
                ends += [(now + SEEN_S, one) for one in agreed]
                events += [PassEvent("updated", _look_again(one)) for one in _take(updates, now)]
                events += [PassEvent("closed", _close(one)) for one in _take(ends, now)]
            for event in events:
                yield event
            await asyncio.sleep(TICK_S)

    @contextmanager
    def _counted(self) -> Iterator[None]:
        before_s = time.thread_time()
        yield
        self.cpu_s += time.thread_time() - before_s

    def _due(self, until_s: float) -> int:
        return int(until_s * self.cameras / self.every_s) - self.made

    def _make(self) -> Pass:
        text, name, _ = self._rng.choice(self._vehicles)
        now_s = time.time()
        self.made += 1
        plate = Plate(BOX, 0.9, text, 0.95, candidates=((text, 0.95),), format=name)
        looks = _looks(plate, now_s, 2)
        return Pass(
            id=new_pass_id(now_s, self.made),
            camera=f"camera {self._rng.randrange(self.cameras):04d}",
            progress="agreed",
            first_seen_s=now_s,
            last_seen_s=now_s + 0.25,
            clock="wall",
            text=text,
            text_score=0.97,
            format=name,
            candidates=((text, 0.97),),
            direction="towards",
            crossings=(),
            speed_widths_s=0.8,
            zones=("gate",),
            observations=looks,
            best=BestFrame(looks[1], (1920, 1080), os.urandom(CROP_BYTES), b""),
        )


def _take(waiting: deque[tuple[float, Pass]], now: float) -> Iterator[Pass]:
    while waiting and waiting[0][0] <= now:
        yield waiting.popleft()[1]


def _look_again(passed: Pass) -> Pass:
    """Return a pass that has crossed into another zone."""
    return replace(
        passed,
        last_seen_s=passed.first_seen_s + UPDATED_S,
        zones=("gate", "yard"),
        observations=_looks(passed.best.observation.plate, passed.first_seen_s, UPDATED_LOOKS),
    )


def _close(passed: Pass) -> Pass:
    return replace(
        passed,
        progress="closed",
        last_seen_s=passed.first_seen_s + SEEN_S,
        zones=("gate", "yard"),
        observations=_looks(passed.best.observation.plate, passed.first_seen_s, LOOKS),
    )


def _looks(plate: Plate, first_s: float, count: int) -> tuple[Observation, ...]:
    every_s = SEEN_S / LOOKS
    return tuple(Observation(first_s + at * every_s, plate, 0.7, 1 / count) for at in range(count))
