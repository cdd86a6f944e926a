"""The results of an evaluation, as they are stored in `report.json`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from orchestrator.settings import Settings
from workshop.evaluation.datasets import Box
from workshop.evaluation.reading import Confusion, Coverage, ScoreBin

PRECISION = 0.99
"""The precision at which coverage is reported."""


@dataclass(frozen=True)
class HitRate:
    """The number of plates in a bin of widths or tilts, and of hits: read or detected plates."""

    bin: str
    plates: int
    hits: int
    rate: float | None


@dataclass(frozen=True)
class Verdicts:
    """The counts and rates of verdicts of labelled plates; rates are None without plates.

    Attributes:
        found: Plates that are read, wrong or not shown.
        read: Plates shown with the wanted text.
        wrong: Plates shown with another text.
        not_shown: Found plates without a shown text: the score is too low.
        found_rate: Found plates / labelled plates.
        read_rate: Read plates / labelled plates.
        read_of_found: Read plates / found plates.
        wrong_of_shown: Wrong plates / shown plates (read and wrong).
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
    """The differences between the best readings of found plates and their true texts."""

    error_rate: float | None
    too_short: int
    too_long: int
    confusions: tuple[Confusion, ...]


@dataclass(frozen=True)
class Decoding:
    """The number of found plates that each way of decoding reads exactly."""

    best_path: int
    format_beam: int


@dataclass(frozen=True)
class Showing:
    """The effect of the text threshold on found plates.

    Attributes:
        coverage: Shown plates / found plates.
        error: Wrong plates / shown plates.
        at_precision: The highest coverage at a precision of `PRECISION`, and its threshold.
    """

    coverage: float | None
    error: float | None
    at_precision: Coverage | None


@dataclass(frozen=True)
class Calibration:
    """The calibration of text scores: the difference between scores and accuracy.

    Attributes:
        ece: The expected calibration error over bins of equal width.
        ece_equal_mass: The same over bins with equal numbers of readings.
        brier: The mean squared distance of score and truth.
    """

    ece: float | None
    ece_equal_mass: float | None
    brier: float | None
    bins: tuple[ScoreBin, ...]
    equal_mass_bins: tuple[ScoreBin, ...]


@dataclass(frozen=True)
class PlateVerdict:
    """The verdict of one labelled plate; reports are compared plate by plate with it.

    Attributes:
        region: The region of the plate, xyxy pixels, with some margin.
        text: The shown text, or the one that a lower threshold would show; `""` without any.
    """

    image: str
    type: str
    region: Box
    wanted: str
    verdict: str
    text: str


@dataclass(frozen=True)
class ReadingResult:
    """The results of reading. Unless another type is named, they are of standard plates.

    Attributes:
        decoding: The results of each way of decoding, of found plates.
        by_width_px: The rate of read plates among the found ones, by width of the box.
        by_tilt_deg: The rate of read plates among the found ones, by tilt.
        by_format: The rate of read plates by format, of all readable plates that are labelled so.
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
    """The results for standard plates under one condition, or under several together.

    Attributes:
        ece: The expected calibration error of the text scores, over bins of equal width.
        ece_equal_mass: The same over bins with equal numbers of readings.
    """

    name: str
    std: Verdicts
    ece: float | None
    ece_equal_mass: float | None


@dataclass(frozen=True)
class RatePoint:
    """A point of a curve: the part that is read of the plates of one width, turn or smear.

    Attributes:
        bin: The name of the bin or strength, such as `20-25` or `-15`.
        x: The value in pixels or degrees; for a bin, the mean.
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
    """The results of reading standard plates under conditions.

    Attributes:
        each: The results for each condition of the table, in its order.
        mean: The results for all of them together, with equal weights.
        by_width_px: The curve by width of the plate in the scaled picture.
        by_turn_deg: The curve by rotation of the picture, anticlockwise.
        by_smear_px: The curve by length of the smear, in pixels of the picture.
    """

    each: tuple[ConditionResult, ...]
    mean: ConditionResult
    by_width_px: tuple[RatePoint, ...]
    by_turn_deg: tuple[RatePoint, ...]
    by_smear_px: tuple[RatePoint, ...]


@dataclass(frozen=True)
class OperatingPoint:
    """The figures of detection at one threshold; undefined figures are None."""

    threshold: float | None
    precision: float | None
    recall: float
    f1: float


@dataclass(frozen=True)
class DetectionResult:
    """The results of detection.

    Attributes:
        ignored: The number of plates without a label; detections there are neither right nor wrong.
        by_width_px: The recall at the service's threshold, by width of the plate.
    """

    pictures: int
    labels: int
    ignored: int
    at_threshold: OperatingPoint
    at_best_f1: OperatingPoint
    map50: float
    map50_95: float
    by_width_px: tuple[HitRate, ...] = ()


@dataclass(frozen=True)
class DataSets:
    """The data of an evaluation, with folders by their names; None when it was not requested."""

    scenes: str | None
    detection: str | None
    split: str | None
    limit: int | None
    every: int = 1


@dataclass(frozen=True)
class Report:
    """The report of a whole evaluation."""

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
