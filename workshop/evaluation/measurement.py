"""Computes the results of an evaluation from the outcome of each plate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from workshop.evaluation.datasets import BAD, OTHER, STANDARD
from workshop.evaluation.detection import (
    COCO_THRESHOLDS,
    Curve,
    DetectedPicture,
    average_precision,
    curve_of,
    match,
)
from workshop.evaluation.outcomes import MISSED, NOT_SHOWN, READ, WRONG, Outcome
from workshop.evaluation.proportions import bin_names, bin_of, wilson_interval
from workshop.evaluation.reading import (
    brier_score,
    character_error_rate,
    count_confusions,
    coverage_at,
    coverage_curve,
    equal_mass_reliability,
    expected_calibration_error,
    reliability,
)
from workshop.evaluation.results import (
    PRECISION,
    Calibration,
    Characters,
    Decoding,
    DetectionResult,
    HitRate,
    OperatingPoint,
    PlateVerdict,
    ReadingResult,
    Showing,
    Verdicts,
)
from workshop.reporting.tables import ratio

WIDTH_EDGES_PX = (40.0, 60.0, 80.0, 120.0, 160.0)
TILT_EDGES_DEG = (1.0, 2.0, 5.0, 10.0)


def of_type(outcomes: Sequence[Outcome], kind: str) -> list[Outcome]:
    """Return the outcomes of plates of one type."""
    return [outcome for outcome in outcomes if outcome.label.type == kind]


def keep_found(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Return the outcomes of plates that were found."""
    return [outcome for outcome in outcomes if outcome.verdict != MISSED]


def measure_reading(outcomes: Sequence[Outcome]) -> ReadingResult:
    """Measure the reading of plates. Apart from the counts, only standard plates are measured."""
    standard = of_type(outcomes, STANDARD)
    detected = keep_found(standard)
    return ReadingResult(
        pictures=len({outcome.path for outcome in outcomes}),
        labels={kind: len(of_type(outcomes, kind)) for kind in (STANDARD, OTHER, BAD)},
        std=count_verdicts(standard),
        other=count_verdicts(of_type(outcomes, OTHER)),
        characters=_compare_characters(detected),
        decoding=_count_readings(detected),
        by_width_px=_bin(detected, WIDTH_EDGES_PX, lambda outcome: outcome.width_px),
        by_tilt_deg=_bin(detected, TILT_EDGES_DEG, lambda outcome: abs(outcome.tilt_deg)),
        by_format=_count_formats(outcomes),
        coverage=_measure_showing(detected),
        calibration=measure_calibration(detected),
        verdicts=tuple(map(_verdict, outcomes)),
    )


def _verdict(outcome: Outcome) -> PlateVerdict:
    text = outcome.answer.text if outcome.answer else ""
    return PlateVerdict(
        image=outcome.path.name,
        type=outcome.label.type,
        region=outcome.label.region,
        wanted=outcome.label.text,
        verdict=outcome.verdict,
        text=text or outcome.best,
    )


def count_verdicts(outcomes: Sequence[Outcome]) -> Verdicts:
    """Count the verdicts of plates."""
    counts = Counter(outcome.verdict for outcome in outcomes)
    found_count, shown_count = len(outcomes) - counts[MISSED], counts[READ] + counts[WRONG]
    return Verdicts(
        plates=len(outcomes),
        found=found_count,
        read=counts[READ],
        wrong=counts[WRONG],
        not_shown=counts[NOT_SHOWN],
        missed=counts[MISSED],
        found_rate=ratio(found_count, len(outcomes)),
        read_rate=ratio(counts[READ], len(outcomes)),
        read_interval=wilson_interval(counts[READ], len(outcomes)),
        read_of_found=ratio(counts[READ], found_count),
        wrong_of_shown=ratio(counts[WRONG], shown_count),
    )


def _compare_characters(detected: Sequence[Outcome]) -> Characters:
    pairs = [(outcome.label.text, outcome.best) for outcome in detected]
    return Characters(
        error_rate=character_error_rate(pairs),
        too_short=sum(len(reading) < len(label) for label, reading in pairs),
        too_long=sum(len(reading) > len(label) for label, reading in pairs),
        confusions=tuple(count_confusions(pairs)),
    )


def _count_readings(detected: Sequence[Outcome]) -> Decoding:
    """Count the found plates that each way of decoding reads exactly, at any score."""
    return Decoding(
        best_path=sum(
            outcome.answer is not None and outcome.answer.raw_text == outcome.label.text
            for outcome in detected
        ),
        format_beam=sum(outcome.is_right for outcome in detected),
    )


def _bin(
    detected: Sequence[Outcome], edges: tuple[float, ...], value: Callable[[Outcome], float]
) -> tuple[HitRate, ...]:
    plates = Counter(bin_of(value(outcome), edges) for outcome in detected)
    read_counts = Counter(
        bin_of(value(outcome), edges) for outcome in detected if outcome.verdict == READ
    )
    return _hit_rates(edges, plates, read_counts)


def _hit_rates(
    edges: tuple[float, ...], plates: Counter[int], hits: Counter[int]
) -> tuple[HitRate, ...]:
    return tuple(
        HitRate(name, plates[index], hits[index], ratio(hits[index], plates[index]))
        for index, name in enumerate(bin_names(edges))
    )


def _count_formats(outcomes: Sequence[Outcome]) -> tuple[HitRate, ...]:
    labelled_outcomes = [
        outcome for outcome in outcomes if outcome.label.format and outcome.label.type != BAD
    ]
    plates = Counter(outcome.label.format for outcome in labelled_outcomes)
    read_counts = Counter(
        outcome.label.format for outcome in labelled_outcomes if outcome.verdict == READ
    )
    return tuple(
        HitRate(name, count, read_counts[name], ratio(read_counts[name], count))
        for name, count in plates.items()
    )


def _measure_showing(detected: Sequence[Outcome]) -> Showing:
    counts = Counter(outcome.verdict for outcome in detected)
    shown_count = counts[READ] + counts[WRONG]
    return Showing(
        coverage=ratio(shown_count, len(detected)),
        error=ratio(counts[WRONG], shown_count),
        at_precision=coverage_at(coverage_curve(*scores_of(detected)), PRECISION),
    )


def measure_calibration(detected: Sequence[Outcome]) -> Calibration:
    """Measure the calibration of the text scores of found plates: scores against accuracy."""
    scores, right = scores_of(detected)
    bins, equal_mass = reliability(scores, right), equal_mass_reliability(scores, right)
    return Calibration(
        ece=expected_calibration_error(bins),
        ece_equal_mass=expected_calibration_error(equal_mass),
        brier=brier_score(scores, right),
        bins=tuple(bins),
        equal_mass_bins=tuple(equal_mass),
    )


def scores_of(detected: Sequence[Outcome]) -> tuple[list[float], list[bool]]:
    """Return the score of each best reading, and true for each right one."""
    return [outcome.score for outcome in detected], [outcome.is_right for outcome in detected]


def measure_detection(pictures: Sequence[DetectedPicture], threshold: float) -> DetectionResult:
    """Measure detection, at the service's threshold and over all thresholds."""
    curves = {iou: curve_of(pictures, iou) for iou in COCO_THRESHOLDS}
    curve = curves[COCO_THRESHOLDS[0]]
    precisions = {iou: average_precision(curve_at_iou) for iou, curve_at_iou in curves.items()}
    return DetectionResult(
        pictures=len(pictures),
        labels=sum(len(picture.labels) for picture in pictures),
        ignored=sum(len(picture.ignored) for picture in pictures),
        at_threshold=_point(curve, int((curve.threshold >= threshold).sum()) - 1, threshold),
        at_best_f1=_point(curve, int(curve.f1.argmax()) if len(curve.f1) else -1),
        map50=precisions[COCO_THRESHOLDS[0]],
        map50_95=sum(precisions.values()) / len(precisions),
        by_width_px=_measure_recall(pictures, threshold),
    )


def _point(curve: Curve, index: int, threshold: float | None = None) -> OperatingPoint:
    """Return one point of the curve. Before its first point there is no detection."""
    if index < 0:
        return OperatingPoint(threshold, precision=None, recall=0.0, f1=0.0)
    return OperatingPoint(
        threshold=float(curve.threshold[index]) if threshold is None else threshold,
        precision=float(curve.precision[index]),
        recall=float(curve.recall[index]),
        f1=float(curve.f1[index]),
    )


def _measure_recall(pictures: Sequence[DetectedPicture], threshold: float) -> tuple[HitRate, ...]:
    labels, hits = Counter[int](), Counter[int]()
    for picture in pictures:
        for pair in match(picture):
            if pair.label is None:
                continue
            x0, _, x1, _ = picture.labels[pair.label]
            index = bin_of(x1 - x0, WIDTH_EDGES_PX)
            labels[index] += 1
            hits[index] += (
                pair.detection is not None and picture.scores[pair.detection] >= threshold
            )
    return _hit_rates(WIDTH_EDGES_PX, labels, hits)
