"""The figures of an evaluation, as they stand in `report.json`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from evaluation.calibration import (
    brier_score,
    coverage_at,
    coverage_curve,
    expected_calibration_error,
    reliability,
)
from evaluation.datasets import BAD, OTHER, STANDARD
from evaluation.detection import (
    COCO_THRESHOLDS,
    Curve,
    Detected,
    average_precision,
    curve_of,
    match,
)
from evaluation.outcomes import MISSED, READ, VERDICTS, WRONG, Outcome
from evaluation.proportions import bin_names, bin_of, ratio, wilson_interval
from evaluation.reading import character_error_rate, confusions

Figures = dict[str, Any]

WIDTH_EDGES_PX = (40.0, 60.0, 80.0, 120.0, 160.0)
TILT_EDGES_DEG = (1.0, 2.0, 5.0, 10.0)
PRECISION = 0.99
"""Coverage is told for this precision."""


def of_type(outcomes: Sequence[Outcome], kind: str) -> list[Outcome]:
    """Return the outcomes of plates of one type."""
    return [outcome for outcome in outcomes if outcome.label.type == kind]


def found(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Return the outcomes of plates that were found."""
    return [outcome for outcome in outcomes if outcome.verdict != MISSED]


def reading_figures(outcomes: Sequence[Outcome]) -> Figures:
    """Measure how plates are read; apart from the counts, of standard plates only."""
    standard = of_type(outcomes, STANDARD)
    seen = found(standard)
    return {
        "pictures": len({outcome.path for outcome in outcomes}),
        "labels": {kind: len(of_type(outcomes, kind)) for kind in (STANDARD, OTHER, BAD)},
        STANDARD: counts(standard),
        OTHER: counts(of_type(outcomes, OTHER)),
        "characters": _characters(seen),
        "decoding": _decoding(seen),
        "by_width_px": _binned(seen, WIDTH_EDGES_PX, lambda outcome: outcome.width_px),
        "by_tilt_deg": _binned(seen, TILT_EDGES_DEG, lambda outcome: abs(outcome.tilt_deg)),
        "coverage": _coverage(seen),
        "calibration": _calibration(seen),
    }


def counts(outcomes: Sequence[Outcome]) -> Figures:
    """Count what became of plates."""
    of = Counter(outcome.verdict for outcome in outcomes)
    seen, shown = len(outcomes) - of[MISSED], of[READ] + of[WRONG]
    return {
        "plates": len(outcomes),
        "found": seen,
        **{verdict.replace(" ", "_"): of[verdict] for verdict in VERDICTS},
        "found_rate": ratio(seen, len(outcomes)),
        "read_rate": ratio(of[READ], len(outcomes)),
        "read_interval": wilson_interval(of[READ], len(outcomes)),
        "read_of_found": ratio(of[READ], seen),
        "wrong_of_shown": ratio(of[WRONG], shown),
    }


def _characters(seen: Sequence[Outcome]) -> Figures:
    pairs = [(outcome.label.text, outcome.best) for outcome in seen]
    return {
        "error_rate": character_error_rate(pairs),
        "too_short": sum(len(read) < len(wanted) for wanted, read in pairs),
        "too_long": sum(len(read) > len(wanted) for wanted, read in pairs),
        "confusions": [
            {"wanted": wanted, "read": read, "count": count}
            for wanted, read, count in confusions(pairs)
        ],
    }


def _decoding(seen: Sequence[Outcome]) -> Figures:
    """Count found plates that each way of decoding reads exactly, whatever the score."""
    known = all(outcome.free_text is not None for outcome in seen)
    return {
        "best_path": sum(o.answer is not None and o.answer.raw_text == o.label.text for o in seen),
        "free_beam": sum(o.free_text == o.label.text for o in seen) if known else None,
        "format_beam": sum(o.is_right for o in seen),
    }


def _binned(
    seen: Sequence[Outcome], edges: tuple[float, ...], value: Callable[[Outcome], float]
) -> list[Figures]:
    inside = [bin_of(value(outcome), edges) for outcome in seen]
    rows = []
    for number, name in enumerate(bin_names(edges)):
        verdicts = [o.verdict for o, i in zip(seen, inside, strict=True) if i == number]
        read = verdicts.count(READ)
        rate = ratio(read, len(verdicts))
        rows.append({"bin": name, "plates": len(verdicts), "hits": read, "rate": rate})
    return rows


def _coverage(seen: Sequence[Outcome]) -> Figures:
    curve = coverage_curve(*scored(seen))
    best = coverage_at(curve, PRECISION)
    of = Counter(outcome.verdict for outcome in seen)
    shown = of[READ] + of[WRONG]
    return {
        "coverage": ratio(shown, len(seen)),
        "error": ratio(of[WRONG], shown),
        f"at_precision_{PRECISION}": asdict(best) if best else None,
    }


def _calibration(seen: Sequence[Outcome]) -> Figures:
    diagram = reliability(*scored(seen))
    return {
        "ece": expected_calibration_error(diagram),
        "brier": brier_score(*scored(seen)),
        "bins": [asdict(one) for one in diagram],
    }


def scored(seen: Sequence[Outcome]) -> tuple[list[float], list[bool]]:
    """Return the score of each best reading and whether it is right."""
    return [outcome.score for outcome in seen], [outcome.is_right for outcome in seen]


def detection_figures(pictures: Sequence[Detected], threshold: float) -> Figures:
    """Measure detection, at the service's threshold and over all of them."""
    curves = {iou: curve_of(pictures, iou) for iou in COCO_THRESHOLDS}
    curve = curves[COCO_THRESHOLDS[0]]
    precisions = {iou: average_precision(one) for iou, one in curves.items()}
    return {
        "pictures": len(pictures),
        "labels": sum(len(picture.labels) for picture in pictures),
        "ignored": sum(len(picture.ignored) for picture in pictures),
        "at_threshold": _at(curve, int((curve.threshold >= threshold).sum()) - 1, threshold),
        "at_best_f1": _at(curve, int(curve.f1.argmax())) if len(curve.f1) else _at(curve, -1),
        "map50": precisions[COCO_THRESHOLDS[0]],
        "map50_95": sum(precisions.values()) / len(precisions),
        "by_width_px": _recall_by_width(pictures, threshold),
    }


def _at(curve: Curve, index: int, threshold: float | None = None) -> Figures:
    """Return one point of the curve; before its first point nothing is shown."""
    if index < 0:
        return {"threshold": threshold, "precision": None, "recall": 0.0, "f1": 0.0}
    return {
        "threshold": float(curve.threshold[index]) if threshold is None else threshold,
        "precision": float(curve.precision[index]),
        "recall": float(curve.recall[index]),
        "f1": float(curve.f1[index]),
    }


def _recall_by_width(pictures: Sequence[Detected], threshold: float) -> list[Figures]:
    labels, hits = Counter[int](), Counter[int]()
    for picture in pictures:
        for one in match(picture):
            if one.label is None:
                continue
            x0, _, x1, _ = picture.labels[one.label]
            number = bin_of(x1 - x0, WIDTH_EDGES_PX)
            labels[number] += 1
            hits[number] += one.detection is not None and picture.scores[one.detection] >= threshold
    return [
        {
            "bin": name,
            "plates": labels[number],
            "hits": hits[number],
            "rate": ratio(hits[number], labels[number]),
        }
        for number, name in enumerate(bin_names(WIDTH_EDGES_PX))
    ]
