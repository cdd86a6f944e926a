"""The metrics of `plate_recognition`.

`plates serve` shares them with its gateway; any other Triton has them on its metrics port beside
its own. Either way, the values of all workers of the model are added up.

Source: Prometheus, "Metric and label naming"; Triton Inference Server, "Custom Metrics".
"""

from __future__ import annotations

import os
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.contract import READER, SHM, STAGES
from orchestrator.errors import (
    Cancelled,
    ModelError,
    Overloaded,
    ParameterError,
    PictureError,
    PlateError,
)
from orchestrator.plates import Plates
from orchestrator.triton.stages import Stopwatch

VARIABLE = "PLATES_METRICS"
"""Variable with the folder of shared metrics. Without it, metrics are Triton's."""
COUNTER, GAUGE, HISTOGRAM = "COUNTER", "GAUGE", "HISTOGRAM"
REASONS = tuple(
    kind.reason
    for kind in (PictureError, ParameterError, ModelError, Overloaded, Cancelled, PlateError)
)
SECONDS = (
    0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.05, 0.075,
    0.1, 0.15, 0.2, 0.3, 0.5, 0.75, 1.0, 2.0, 5.0, 10.0,
)  # fmt: skip
SCORES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 1.0)
WIDTHS_PX = (20.0, 30.0, 40.0, 50.0, 60.0, 80.0, 100.0, 130.0, 170.0, 220.0, 300.0, 400.0, 600.0)


@dataclass(frozen=True, eq=False)
class Family:
    """Metrics with one name, one for each value of the label.

    Attributes:
        name: The name of the metrics, with its unit.
        kind: Counter, gauge or histogram.
        help: Description of the counts.
        label: The label's name; none when empty.
        values: All values of the label; each exists from the start, so that a rate includes the
            first event.
        buckets: Upper bounds of a histogram.
    """

    name: str
    kind: str
    help: str
    label: str = ""
    values: tuple[str, ...] = ("",)
    buckets: tuple[float, ...] = ()


PICTURES = Family("plates_pictures_total", COUNTER, "Requests that reached the model.")
EARLY_EXITS = Family("plates_early_exits_total", COUNTER, "Pictures answered without a plate.")
FOUND = Family("plates_found_total", COUNTER, "Plates found.")
READ = Family("plates_read_total", COUNTER, "Plates whose text was shown.")
ERRORS = Family("plates_errors_total", COUNTER, "Requests that failed.", "reason", REASONS)
REQUEST = Family(
    "plates_request_seconds", HISTOGRAM, "Time of a request in the model.", buckets=SECONDS
)
STAGE = Family(
    "plates_stage_seconds", HISTOGRAM, "Time of a request's stage.", "stage", STAGES, SECONDS
)
TEXT_SCORE = Family(
    "plates_text_score", HISTOGRAM, "Text score of a plate's best reading.", buckets=SCORES
)
WIDTH = Family(
    "plates_width_px", HISTOGRAM, "Width of a plate in the picture sent.", buckets=WIDTHS_PX
)
START = Family("plates_start_time_seconds", GAUGE, "When the model was loaded, in Unix time.")
SHM_FREE = Family(
    "plates_shm_free_bytes", GAUGE, "Shared memory that is left for tensors between models."
)

FAMILIES = (
    PICTURES, EARLY_EXITS, FOUND, READ, ERRORS, REQUEST, STAGE, TEXT_SCORE, WIDTH, START, SHM_FREE
)  # fmt: skip


def choose_families(tritons: Any) -> Any:
    """Return the class that makes the families: one that shares them, or Triton's `MetricFamily`.

    The library is imported only where it is needed, so that another Triton need not have it.
    """
    folder = os.environ.get(VARIABLE)
    if not folder:
        return tritons
    from orchestrator.triton import shared_metrics

    return shared_metrics.use(Path(folder))


class Metrics:
    """Counts the outcome of each request."""

    def __init__(self, maker: Any) -> None:
        """Create every metric.

        Args:
            maker: Triton's class `MetricFamily`.
        """
        # Triton requires that the families outlive their metrics.
        self._families = {
            family: maker(family.name, family.help, getattr(maker, family.kind))
            for family in FAMILIES
        }
        self._metrics = {
            (family, value): metric_family.Metric(
                labels={family.label: value} if value else {},
                **({"buckets": list(family.buckets)} if family.buckets else {}),
            )
            for family, metric_family in self._families.items()
            for value in family.values
        }
        self._metrics[START, ""].set(time.time())
        self._metrics[SHM_FREE, ""].set(shutil.disk_usage(SHM).free)

    def note_answer(self, plates: Plates, watch: Stopwatch) -> None:
        """Count a request that was answered."""
        self._note_request(watch)
        for stage, seconds in watch.seconds.items():
            self._metrics[STAGE, stage].observe(seconds)
        if not plates:
            self._metrics[EARLY_EXITS, ""].increment(1)
            return
        self._metrics[FOUND, ""].increment(len(plates))
        for plate in plates:
            self._metrics[WIDTH, ""].observe(plate.xyxy[2] - plate.xyxy[0])
        if READER in watch.seconds:
            for plate in plates:
                self._metrics[TEXT_SCORE, ""].observe(plate.text_score)
            self._metrics[READ, ""].increment(len(plates.texts))

    def note_failure(self, error: PlateError, watch: Stopwatch) -> None:
        """Count a request that failed."""
        self._note_request(watch)
        self._metrics[ERRORS, error.reason].increment(1)

    def _note_request(self, watch: Stopwatch) -> None:
        self._metrics[PICTURES, ""].increment(1)
        self._metrics[REQUEST, ""].observe(watch.total_s)
        self._metrics[SHM_FREE, ""].set(shutil.disk_usage(SHM).free)
