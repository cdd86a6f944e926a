"""Tables of passes, of what became of them, and of their calibration."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from statistics import median

from plate_cameras.passes import Pass
from workshop.evaluation.passes.pass_outcomes import ClipOutcome
from workshop.reporting.tables import format_number, format_percent, format_table

EDGES = (0.0, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 1.0001)
"""Edges of the bins of scores."""
HEADER = (
    *("clips", "passes", "found", "exact", "spurious", "split", "merged"),
    *("agreed", "after s"),
)


def outcome_table(outcomes: Sequence[ClipOutcome]) -> str:
    """Return a row for each light and weather, then for each scenario and frame rate."""
    rows = []
    for key in (
        lambda one: one.conditions,
        lambda one: f"{one.conditions}, {one.scenario}",
        lambda one: f"{one.conditions}, {one.rate:g} frames/s",
    ):
        rows += [_row(name, those) for name, those in sorted(_groups(outcomes, key).items())]
    return format_table(HEADER, rows)


def calibration_table(outcomes: Sequence[ClipOutcome]) -> str:
    """Return a row for each bin of scores, and the expected calibration error."""
    rows: list[list[str | int | None]] = []
    for conditions, those in sorted(_groups(outcomes, lambda one: one.conditions).items()):
        texts = [text for one in those for text in one.texts]
        rows.append([conditions, len(texts), None, None, format_number(calibration_error(texts))])
        for low, high in pairwise(EDGES):
            inside = [(score, right) for score, right in texts if low <= score < high]
            if inside:
                mean = sum(score for score, _ in inside) / len(inside)
                share = sum(right for _, right in inside) / len(inside)
                cells = (len(inside), format_number(mean), format_number(share), None)
                rows.append([f"  {low:g} to {min(high, 1):g}", *cells])
    return format_table(("score", "texts", "mean score", "right", "ECE"), rows)


def calibration_error(texts: Sequence[tuple[float, bool]]) -> float | None:
    """Return the mean distance of score and share of right texts, weighted by bins."""
    error = 0.0
    for low, high in pairwise(EDGES):
        inside = [(score, right) for score, right in texts if low <= score < high]
        error += abs(sum(score - right for score, right in inside))
    return error / len(texts) if texts else None


def pass_table(passes: Iterable[Pass]) -> str:
    """Return a row for each pass of a clip."""
    rows = [
        (
            one.text or "(unreadable)",
            format_number(one.text_score),
            f"{one.first_seen_s:.2f}",
            f"{one.last_seen_s:.2f}",
            len(one.observations),
            one.direction,
            f"{one.speed_widths_s:.1f}",
            round(one.best.observation.plate.xyxy[2] - one.best.observation.plate.xyxy[0]),
            f"{one.best.observation.time_s:.2f}",
        )
        for one in passes
    ]
    header = (
        "text",
        "score",
        "first s",
        "last s",
        "looks",
        "direction",
        "widths/s",
        "px",
        "best s",
    )
    return format_table(header, rows)


def _groups(
    outcomes: Iterable[ClipOutcome], key: Callable[[ClipOutcome], str]
) -> dict[str, list[ClipOutcome]]:
    groups: dict[str, list[ClipOutcome]] = {}
    for one in outcomes:
        groups.setdefault(key(one), []).append(one)
    return groups


def _row(name: str, those: Sequence[ClipOutcome]) -> tuple[str | int | None, ...]:
    counted, found = sum(one.counted for one in those), sum(one.found for one in those)
    passes, agreed = sum(one.passes for one in those), sum(one.agreed for one in those)
    after = [after for one in those for after in one.agreed_after_s]
    return (
        name,
        counted,
        format_percent(found / counted if counted else None),
        format_percent(sum(one.exact for one in those) / found if found else None),
        format_percent(sum(one.spurious for one in those) / passes if passes else None),
        sum(one.split for one in those),
        sum(one.merged for one in those),
        format_percent(agreed / counted if counted else None),
        f"{median(after):.2f}" if after else None,
    )
