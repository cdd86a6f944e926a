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
    "clips", "passes", "found", "exact", "spurious", "split", "merged", "agreed", "after s",
)  # fmt: skip


def outcome_table(outcomes: Sequence[ClipOutcome]) -> str:
    """Return a row for each light and weather, then for each scenario and frame rate."""
    rows = []
    for key in (
        lambda outcome: outcome.conditions,
        lambda outcome: f"{outcome.conditions}, {outcome.scenario}",
        lambda outcome: f"{outcome.conditions}, {outcome.rate:g} frames/s",
    ):
        rows += [_row(name, those) for name, those in sorted(_groups(outcomes, key).items())]
    return format_table(HEADER, rows)


def calibration_table(outcomes: Sequence[ClipOutcome]) -> str:
    """Return a row for each bin of scores, and the expected calibration error."""
    rows: list[list[str | int | None]] = []
    for conditions, those in sorted(_groups(outcomes, lambda outcome: outcome.conditions).items()):
        texts = [text for outcome in those for text in outcome.texts]
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
            vehicle_pass.text or "(unreadable)",
            format_number(vehicle_pass.text_score),
            f"{vehicle_pass.first_seen_s:.2f}",
            f"{vehicle_pass.last_seen_s:.2f}",
            len(vehicle_pass.observations),
            vehicle_pass.direction,
            f"{vehicle_pass.speed_widths_s:.1f}",
            round(
                vehicle_pass.best.observation.plate.xyxy[2]
                - vehicle_pass.best.observation.plate.xyxy[0]
            ),
            f"{vehicle_pass.best.observation.time_s:.2f}",
        )
        for vehicle_pass in passes
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
    for outcome in outcomes:
        groups.setdefault(key(outcome), []).append(outcome)
    return groups


def _row(name: str, those: Sequence[ClipOutcome]) -> tuple[str | int | None, ...]:
    counted, found = (
        sum(outcome.counted for outcome in those),
        sum(outcome.found for outcome in those),
    )
    passes, agreed = (
        sum(outcome.passes for outcome in those),
        sum(outcome.agreed for outcome in those),
    )
    after = [after for outcome in those for after in outcome.agreed_after_s]
    return (
        name,
        counted,
        format_percent(found / counted if counted else None),
        format_percent(sum(outcome.exact for outcome in those) / found if found else None),
        format_percent(sum(outcome.spurious for outcome in those) / passes if passes else None),
        sum(outcome.split for outcome in those),
        sum(outcome.merged for outcome in those),
        format_percent(agreed / counted if counted else None),
        f"{median(after):.2f}" if after else None,
    )
