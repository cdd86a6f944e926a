"""The figures that docs/accuracy.md and weights/README.md show: weights/figures.json."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from evaluation.results import (
    ConditionsResult,
    Decoding,
    DetectionResult,
    OperatingPoint,
    Report,
    Verdicts,
)
from evaluation.scores import Coverage
from orchestrator.networks.weights import WEIGHTS

FIGURES = WEIGHTS / "figures.json"
UNLABELLED = Path(__file__).with_name("unlabelled_plates.csv")
"""Plates of the validation photos that nobody labelled, found by eye among false alarms."""

OURS, FLOAT32, TORCHSCRIPT, AS_LABELLED = ("ours", "float32", "torchscript", "as labelled")
PREDECESSOR, PREDECESSOR_ALL = ("predecessor", "predecessor, every text shown")
SIDES_PX = (640, 800)
"""Longest sides of the detector's input that are measured beside the service's own."""


@dataclass(frozen=True)
class PublishedReading:
    """How plates are read, without the plates themselves."""

    std: Verdicts
    other: Verdicts
    decoding: Decoding
    at_precision: Coverage | None
    ece: float | None
    ece_equal_mass: float | None
    brier: float | None


@dataclass(frozen=True)
class PublishedDetection:
    """How plates are detected; IoU 0.5 unless the name says otherwise."""

    pictures: int
    labels: int
    ignored: int
    at_threshold: OperatingPoint
    at_best_f1: OperatingPoint
    map50: float
    map50_95: float


@dataclass(frozen=True)
class PublishedRun:
    """One evaluation.

    Attributes:
        engines: What ran each network.
        weights_sha256: Of each network.
        detector_side_px: Longest side of the detector's input.
        text_threshold: Least score of a text that was shown.
        reading: Where the scenes were read.
        detection: Where detection was measured.
        conditions: Where the scenes were read under conditions.
    """

    engines: Mapping[str, str]
    weights_sha256: Mapping[str, str]
    detector_side_px: int
    text_threshold: float
    reading: PublishedReading | None
    detection: PublishedDetection | None
    conditions: ConditionsResult | None = None


@dataclass(frozen=True)
class PublishedTest:
    """Ours against the predecessor's pair on the standard plates; see `evaluation.pairing`."""

    plates: int
    won: int
    lost: int
    p_value: float


@dataclass(frozen=True)
class MeasuredOn:
    """What the figures were measured on; versions by package."""

    cpu: str
    cores: int
    packages: Mapping[str, str]


@dataclass(frozen=True)
class Published:
    """All figures of the pages, from one command.

    Attributes:
        machine: What they were measured on.
        weights_sha256: Of every file of weights, by its name.
        unlabelled_sha256: Of the list of plates that detection sets aside.
        parameters: Numbers that training fits, by network.
        runs: The evaluations by name.
        against_predecessor: How ours and the predecessor's pair differ, plate by plate.
    """

    machine: MeasuredOn
    weights_sha256: Mapping[str, str]
    unlabelled_sha256: str
    parameters: Mapping[str, int]
    runs: Mapping[str, PublishedRun]
    against_predecessor: PublishedTest


def publish_run(report: Report) -> PublishedRun:
    """Keep the figures of a report: nothing of single plates, which are personal data."""
    return PublishedRun(
        engines=report.engines,
        weights_sha256=report.weights_sha256,
        detector_side_px=report.settings.detector_side_px,
        text_threshold=report.settings.text_threshold,
        reading=_publish_reading(report),
        detection=_publish_detection(report.detection),
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


def _publish_detection(detection: DetectionResult | None) -> PublishedDetection | None:
    if detection is None:
        return None
    return PublishedDetection(
        pictures=detection.pictures,
        labels=detection.labels,
        ignored=detection.ignored,
        at_threshold=detection.at_threshold,
        at_best_f1=detection.at_best_f1,
        map50=detection.map50,
        map50_95=detection.map50_95,
    )
