"""What an evaluation found out, as it stands in `report.json`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from evaluation.reading import Confusion
from evaluation.scores import Coverage, ScoreBin
from evaluation.yolo_labels import Box
from orchestrator.settings import Settings

PRECISION = 0.99
"""Coverage is told for this precision."""


@dataclass(frozen=True)
class HitRate:
    """Plates of one bin of widths or tilts, and how many were hit: read or detected."""

    bin: str
    plates: int
    hits: int
    rate: float | None


@dataclass(frozen=True)
class Verdicts:
    """What became of labelled plates; rates are None of no plates.

    Attributes:
        plates: Labelled.
        found: Read, wrong or not shown.
        read: Shown with the wanted text.
        wrong: Shown with another text.
        not_shown: Not sure enough.
        missed: Not found.
        found_rate: Found of labelled.
        read_rate: Read of labelled.
        read_interval: Where the true `read_rate` lies with 95 % confidence.
        read_of_found: Read of found.
        wrong_of_shown: Wrong of read and wrong.
    """

    plates: int
    found: int
    read: int
    wrong: int
    not_shown: int
    missed: int
    found_rate: float | None
    read_rate: float | None
    read_interval: tuple[float, float] | None
    read_of_found: float | None
    wrong_of_shown: float | None


@dataclass(frozen=True)
class Characters:
    """How the best readings of found plates differ from what they say."""

    error_rate: float | None
    too_short: int
    too_long: int
    confusions: tuple[Confusion, ...]


@dataclass(frozen=True)
class Decoding:
    """Found plates that each way of decoding reads exactly; None where that is not known."""

    best_path: int
    free_beam: int | None
    format_beam: int


@dataclass(frozen=True)
class Showing:
    """What the text threshold does to found plates.

    Attributes:
        coverage: Shown over found.
        error: Wrong over shown.
        at_precision: The most coverage at a precision of `PRECISION`, and its threshold.
    """

    coverage: float | None
    error: float | None
    at_precision: Coverage | None


@dataclass(frozen=True)
class Calibration:
    """Whether text scores mean what they say.

    Attributes:
        ece: Expected calibration error over bins of equal width.
        ece_equal_mass: The same over bins of equally many readings.
        brier: Mean squared distance of score and truth.
        bins: Of equal width.
        equal_mass_bins: Of equally many readings.
    """

    ece: float | None
    ece_equal_mass: float | None
    brier: float | None
    bins: tuple[ScoreBin, ...]
    equal_mass_bins: tuple[ScoreBin, ...]


@dataclass(frozen=True)
class PlateVerdict:
    """What became of one labelled plate; reports are compared plate by plate with it.

    Attributes:
        image: File name of the picture.
        type: `std`, `other` or `bad`.
        region: Where the plate is, xyxy pixels, with some margin.
        wanted: Its text.
        verdict: `read`, `wrong`, `not shown` or `missed`.
        text: What was shown, or would have been with a lower threshold; `""` where nothing.
    """

    image: str
    type: str
    region: Box
    wanted: str
    verdict: str
    text: str


@dataclass(frozen=True)
class ReadingResult:
    """How plates are read; apart from `labels` and `other`, standard plates.

    Attributes:
        pictures: With a labelled plate.
        labels: Plates by type.
        std: Standard plates.
        other: Other plates that can be read.
        characters: Of those found.
        decoding: Of those found.
        by_width_px: Of those found, by width of the box.
        by_tilt_deg: Of those found, by tilt.
        coverage: Of those found.
        calibration: Of those found.
        verdicts: Of every labelled plate, whatever its type.
        by_format: Of all that can be read and whose format the labels name, missed ones too.
    """

    pictures: int
    labels: Mapping[str, int]
    std: Verdicts
    other: Verdicts
    characters: Characters
    decoding: Decoding
    by_width_px: tuple[HitRate, ...]
    by_tilt_deg: tuple[HitRate, ...]
    coverage: Showing
    calibration: Calibration
    verdicts: tuple[PlateVerdict, ...]
    by_format: tuple[HitRate, ...] = ()


@dataclass(frozen=True)
class ConditionResult:
    """Standard plates under one condition, or under several together.

    Attributes:
        name: Of the condition.
        std: What became of the plates.
        ece: Expected calibration error of the text scores, bins of equal width.
        ece_equal_mass: The same, bins of equally many readings.
    """

    name: str
    std: Verdicts
    ece: float | None
    ece_equal_mass: float | None


@dataclass(frozen=True)
class RatePoint:
    """A point of a curve: plates of one width, turn or smear, and what part of them is read.

    Attributes:
        bin: What it is a point of, `20-25` or `-15`.
        x: Pixels or degrees; of a bin the mean.
        plates: Labelled.
        read: Shown with the wanted text.
        rate: Read of labelled.
        low: Where the true rate begins with 95 % confidence.
        high: Where it ends.
    """

    bin: str
    x: float
    plates: int
    read: int
    rate: float
    low: float
    high: float


@dataclass(frozen=True)
class ConditionsResult:
    """How standard plates are read under conditions.

    Attributes:
        each: Of the table, in its order.
        mean: All of these together; each weighs the same.
        by_width_px: By width of the plate in the picture scaled down.
        by_turn_deg: By how far the picture is turned, anticlockwise.
        by_smear_px: By length of the smear, pixels of the picture.
    """

    each: tuple[ConditionResult, ...]
    mean: ConditionResult
    by_width_px: tuple[RatePoint, ...]
    by_turn_deg: tuple[RatePoint, ...]
    by_smear_px: tuple[RatePoint, ...]


@dataclass(frozen=True)
class OperatingPoint:
    """Detection at one threshold; what nothing defines is None."""

    threshold: float | None
    precision: float | None
    recall: float
    f1: float


@dataclass(frozen=True)
class DetectionResult:
    """How plates are detected.

    Attributes:
        pictures: Looked at.
        labels: Labelled plates.
        ignored: Plates without a label; what is found there counts neither way.
        at_threshold: At the service's threshold, IoU 0.5.
        at_best_f1: At the threshold with the best F1, IoU 0.5.
        map50: Average precision at IoU 0.5.
        map50_95: Mean over IoU 0.5 to 0.95.
        by_width_px: Recall at the service's threshold, by width of the plate.
    """

    pictures: int
    labels: int
    ignored: int
    at_threshold: OperatingPoint
    at_best_f1: OperatingPoint
    map50: float
    map50_95: float
    by_width_px: tuple[HitRate, ...]


@dataclass(frozen=True)
class DataSets:
    """What was measured on, folders by their names; None where a kind was not asked for."""

    scenes: str | None
    detection: str | None
    split: str | None
    limit: int | None
    every: int = 1


@dataclass(frozen=True)
class Report:
    """A whole evaluation.

    Attributes:
        name: In comparisons.
        way: `in process` or `triton`.
        engines: What ran each network; empty where that is not known.
        settings: What the pictures were recognised with.
        weights_sha256: Of each network; empty where they are not known.
        data: What was measured on.
        seconds: How long it took.
        reading: Where there were scenes.
        detection: Where there were boxes.
        conditions: Where they were asked for.
    """

    name: str
    way: str
    engines: Mapping[str, str]
    settings: Settings
    weights_sha256: Mapping[str, str]
    data: DataSets
    seconds: float
    reading: ReadingResult | None = None
    detection: DetectionResult | None = None
    conditions: ConditionsResult | None = None
