"""The figures in weights/figures.json, which docs/accuracy.md and weights/README.md show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from orchestrator.networks.weights import WEIGHTS
from workshop.evaluation.reading import Coverage
from workshop.evaluation.results import (
    ConditionsResult,
    Decoding,
    DetectionResult,
    Report,
    Verdicts,
)

FIGURES = WEIGHTS / "figures.json"
UNLABELLED = Path(__file__).parents[1] / "unlabelled_plates.csv"
"""The list of unlabelled plates in the validation photos, found by eye among false alarms."""

OURS, FLOAT32, TORCHSCRIPT, AS_LABELLED = ("ours", "float32", "torchscript", "as labelled")
PREDECESSOR, PREDECESSOR_ALL = ("predecessor", "predecessor, every text shown")
SIDES_PX = (640, 800)
"""The longest sides of the detector's input that are measured besides the service's own."""


@dataclass(frozen=True)
class PublishedReading:
    """The figures of reading, without data of single plates."""

    std: Verdicts
    other: Verdicts
    decoding: Decoding
    at_precision: Coverage | None
    ece: float | None
    ece_equal_mass: float | None
    brier: float | None


@dataclass(frozen=True)
class PublishedRun:
    """The figures of one evaluation.

    Attributes:
        detector_side_px: The longest side of the detector's input.
    """

    engines: Mapping[str, str]
    weights_sha256: Mapping[str, str]
    detector_side_px: int
    text_threshold: float
    reading: PublishedReading | None
    detection: DetectionResult | None
    conditions: ConditionsResult | None = None


@dataclass(frozen=True)
class PublishedTest:
    """Our networks against the predecessor's, on the standard plates; see `pairing`."""

    plates: int
    won: int
    lost: int
    p_value: float


@dataclass(frozen=True)
class MeasuredOn:
    """The machine that the figures were measured on, and the versions by package."""

    cpu: str
    cores: int
    packages: Mapping[str, str]


@dataclass(frozen=True)
class Published:
    """All figures of the pages, from one command.

    Attributes:
        unlabelled_sha256: The SHA-256 of the list of plates that detection ignores.
    """

    machine: MeasuredOn
    weights_sha256: Mapping[str, str]
    unlabelled_sha256: str
    parameters: Mapping[str, int]
    runs: Mapping[str, PublishedRun]
    against_predecessor: PublishedTest


def publish_run(report: Report) -> PublishedRun:
    """Return the figures of a report, without data of single plates, which is personal data."""
    return PublishedRun(
        engines=report.engines,
        weights_sha256=report.weights_sha256,
        detector_side_px=report.settings.detector_side_px,
        text_threshold=report.settings.text_threshold,
        reading=_publish_reading(report),
        detection=report.detection and replace(report.detection, by_width_px=()),
        conditions=report.conditions,
    )


def _publish_reading(report: Report) -> PublishedReading | None:
    reading = report.reading
    if reading is None:
        return None
    return PublishedReading(
        std=reading.std,
        other=reading.other,
        decoding=reading.decoding,
        at_precision=reading.coverage.at_precision,
        ece=reading.calibration.ece,
        ece_equal_mass=reading.calibration.ece_equal_mass,
        brier=reading.calibration.brier,
    )
