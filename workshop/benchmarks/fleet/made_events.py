"""Events of passes at the rate of many cameras."""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from orchestrator.cameras.configuration import Camera
from orchestrator.cameras.pass_tracker import new_pass_id
from orchestrator.cameras.passes import BestFrame, Observation, Pass, PassEvent
from orchestrator.plates import Plate
from workshop.benchmarks.passes_store.made_passes import make_vehicles

VEHICLES = 50_000
CROP_BYTES = 8_000
SEEN_S, LOOKS = 3.0, 8
BOX = (812.4, 600.1, 971.9, 640.7)
TICK_S = 0.05


@dataclass
class Traffic:
    """Cameras with one pass each in `every_s`, at random times.

    Attributes:
        cameras: Number of cameras.
        every_s: Mean time between two passes of a camera.
        made: Number of passes so far.
    """

    cameras: int
    every_s: float
    made: int = 0
    _rng: random.Random = field(default_factory=lambda: random.Random(0))

    def configured(self) -> list[Camera]:
        """Return the cameras."""
        return [Camera(f"camera {number:04d}", "rtsp://camera") for number in range(self.cameras)]

    async def events(self, seconds: float) -> AsyncIterator[PassEvent]:
        """Yield `agreed` and, after the time for which a vehicle is seen, `closed` of each pass."""
        vehicles = make_vehicles(VEHICLES, self._rng)
        started, open_passes = time.monotonic(), list[tuple[float, Pass]]()
        while (now := time.monotonic() - started) < seconds or open_passes:
            wanted = int(min(now, seconds) * self.cameras / self.every_s)
            while self.made < wanted:
                passed = self._make(*self._rng.choice(vehicles))
                self.made += 1
                open_passes.append((now + SEEN_S, passed))
                yield PassEvent("agreed", passed)
            while open_passes and open_passes[0][0] <= now:
                yield PassEvent("closed", _close(open_passes.pop(0)[1]))
            await asyncio.sleep(TICK_S)

    def _make(self, text: str, name: str, code: str) -> Pass:
        del code
        now_s = time.time()
        plate = Plate(BOX, 0.9, text, 0.95, candidates=((text, 0.95),), format=name)
        looks = tuple(Observation(now_s + at / 4, plate, 0.7, 1 / LOOKS) for at in range(LOOKS))
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
            observations=looks[:2],
            best=BestFrame(looks[1], (1920, 1080), os.urandom(CROP_BYTES), b""),
        )


def _close(passed: Pass) -> Pass:
    plate = passed.best.observation.plate
    looks = tuple(
        Observation(passed.first_seen_s + at * SEEN_S / LOOKS, plate, 0.7, 1 / LOOKS)
        for at in range(LOOKS)
    )
    return Pass(
        **{
            **vars(passed),
            "progress": "closed",
            "last_seen_s": passed.first_seen_s + SEEN_S,
            "observations": looks,
        }
    )
