"""How many events a store takes in a second, pictures included."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

from orchestrator.plates import Plate
from plate_cameras.configuration import Sink
from plate_cameras.passes import BestFrame, Observation, Pass, PassEvent
from plate_cameras.store.pass_store import PassStore
from workshop.benchmarks.passes_store.made_passes import END_S

SECONDS = 5.0
CROP_BYTES, FRAME_BYTES = 8_000, 250_000
SINKS = (Sink("webhook", "webhook", "https://example.org"), Sink("file", "jsonl", "events.jsonl"))


def time_writes(store: PassStore) -> Iterator[tuple[str, str]]:
    """Time writes of one, ten and a hundred events."""
    for size in (1, 10, 100):
        started, written, run = time.perf_counter(), 0, time.time_ns()
        while time.perf_counter() - started < SECONDS:
            store.write([_event(f"{run}-{written + at}") for at in range(size)], SINKS)
            written += size
        seconds = time.perf_counter() - started
        yield str(size), f"{written / seconds:.0f}"


def _event(name: str) -> PassEvent:
    plate = Plate((812.4, 600.1, 971.9, 640.7), 0.9, "A123BC77", 0.95, format="ru_car")
    looks = tuple(Observation(END_S + at, plate, 0.7, 0.2) for at in range(5))
    best = BestFrame(looks[2], (1920, 1080), os.urandom(CROP_BYTES), os.urandom(FRAME_BYTES))
    return PassEvent(
        "closed",
        Pass(
            id=f"written-{name}",
            camera="camera 1",
            progress="closed",
            first_seen_s=END_S,
            last_seen_s=END_S + 4,
            clock="wall",
            text="A123BC77",
            text_score=0.97,
            format="ru_car",
            candidates=(("A123BC77", 0.97),),
            direction="away",
            crossings=(),
            speed_widths_s=0.5,
            zones=("gate",),
            observations=looks,
            best=best,
        ),
    )
