"""Judges the passes of a clip by its truth, and makes tables of passes and outcomes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from plate_cameras.passes import Pass, PassEvent
from workshop.evaluation.reading import ScoreBin, bin_of_scores, expected_calibration_error
from workshop.rendering.road.clips import Truth, TruthPass
from workshop.reporting.tables import format_number, format_percent, format_table, ratio

MIN_READABLE = 2
"""Number of frames with a readable plate from which a pass counts."""
OTHERS_SHARE = 0.2
"""Share of a pass's looks at another vehicle from which it is merged."""
MIN_KMH = 5.0
"""Least true speed of a vehicle that counts as moving."""
NEAR = 0.6
"""Greatest distance of a plate from its true place, in true widths."""


@dataclass(frozen=True)
class ClipOutcome:
    """The outcomes of the vehicles of one clip.

    Attributes:
        scenario, conditions, rate: See `Truth`.
        counted: Number of passes that count: their plate is readable in two frames.
        found: Number of those that have a pass.
        split: Number of those that have several.
        exact: Number of those whose first pass has exactly their text.
        merged: Passes with looks at several vehicles.
        passes: All passes that were told.
        spurious: Passes of no vehicle, and all but the first of a vehicle.
        agreed_after_s: Time from the first readable frame to the event `agreed`, of each of those
            counted whose pass agreed.
        texts: The score of each text that was shown, and whether it was right.
        speeds: True speed of each moving vehicle, with the told one and its error, km/h.
    """

    scenario: str
    conditions: str
    rate: float
    counted: int
    found: int
    split: int
    exact: int
    merged: int
    passes: int
    spurious: int
    agreed_after_s: tuple[float, ...]
    texts: tuple[tuple[float, bool], ...]
    speeds: tuple[tuple[float, float | None, float | None], ...] = ()


def judge_clip(truth: Truth, events: Sequence[PassEvent]) -> ClipOutcome:
    """Judge the events of a clip."""
    closed_passes = [event.vehicle_pass for event in events if event.kind == "closed"]
    agreed_passes = {
        event.vehicle_pass.id: event.vehicle_pass for event in events if event.kind == "agreed"
    }
    vehicle_counts = [vehicles_of(vehicle_pass, truth) for vehicle_pass in closed_passes]
    by_vehicle = _group_by_vehicle(closed_passes, vehicle_counts)
    counted_vehicles = {
        index: vehicle
        for index, vehicle in enumerate(truth.passes)
        if len(vehicle.readable) >= MIN_READABLE
    }
    matches = [
        (vehicle, by_vehicle[index])
        for index, vehicle in counted_vehicles.items()
        if index in by_vehicle
    ]
    longest_passes = [(vehicle, max(passes, key=_count_looks)) for vehicle, passes in matches]
    agreed_after_s = tuple(
        agreed_passes[vehicle_pass.id].last_seen_s - (vehicle.first_s or 0.0)
        for vehicle, vehicle_pass in longest_passes
        if vehicle_pass.id in agreed_passes
    )
    return ClipOutcome(
        scenario=truth.scenario,
        conditions=truth.conditions,
        rate=truth.rate,
        counted=len(counted_vehicles),
        found=len(matches),
        split=sum(len(passes) > 1 for _, passes in matches),
        exact=sum(vehicle.text == vehicle_pass.text for vehicle, vehicle_pass in longest_passes),
        merged=sum(map(_is_merged, vehicle_counts)),
        passes=len(closed_passes),
        spurious=len(closed_passes) - len(by_vehicle),
        agreed_after_s=agreed_after_s,
        texts=tuple(_text_scores(truth, by_vehicle)),
        speeds=tuple(
            (vehicle.speed_kmh, vehicle_pass.speed_kmh, vehicle_pass.speed_error_kmh)
            for vehicle, vehicle_pass in longest_passes
            if vehicle.speed_kmh is not None and vehicle.speed_kmh >= MIN_KMH
        ),
    )


def _count_looks(vehicle_pass: Pass) -> int:
    return len(vehicle_pass.observations)


def _group_by_vehicle(
    passes: Iterable[Pass], vehicle_counts: Iterable[Counter[int]]
) -> dict[int, list[Pass]]:
    """Return the passes by the vehicle that most of their looks show."""
    by_vehicle: dict[int, list[Pass]] = {}
    for vehicle_pass, counts in zip(passes, vehicle_counts, strict=True):
        if counts:
            by_vehicle.setdefault(counts.most_common(1)[0][0], []).append(vehicle_pass)
    return by_vehicle


def vehicles_of(vehicle_pass: Pass, truth: Truth) -> Counter[int]:
    """Return how many of a pass's looks show each vehicle of the truth."""
    counts: Counter[int] = Counter()
    for observation in vehicle_pass.observations:
        x0, y0, x1, y1 = observation.plate.xyxy
        middle = (x0 + x1) / 2, (y0 + y1) / 2
        distances = {
            index: distance
            for index, vehicle in enumerate(truth.passes)
            if (distance := _distance(vehicle, observation.time_s, truth.rate, middle)) <= NEAR
        }
        if distances:
            counts[min(distances, key=lambda index: distances[index])] += 1
    return counts


def _distance(vehicle: TruthPass, time_s: float, rate: float, middle: tuple[float, float]) -> float:
    """Return the distance of a point from a vehicle's plate at a time, in plate widths."""
    for box in vehicle.boxes:
        if abs(box.time_s - time_s) < 0.5 / rate:
            x0, y0, x1, y1 = box.xyxy
            away = ((x0 + x1) / 2 - middle[0]) ** 2 + ((y0 + y1) / 2 - middle[1]) ** 2
            return float(away**0.5 / max(1.0, x1 - x0))
    return float("inf")


def _is_merged(counts: Counter[int]) -> bool:
    whole = sum(counts.values())
    return sum(count > OTHERS_SHARE * whole for count in counts.values()) > 1


def _text_scores(truth: Truth, by_vehicle: dict[int, list[Pass]]) -> list[tuple[float, bool]]:
    """Return score and correctness of the best text of each pass, shown or not."""
    return [
        (vehicle_pass.text_score, vehicle_pass.candidates[0][0] == truth.passes[index].text)
        for index, passes in by_vehicle.items()
        for vehicle_pass in passes
        if vehicle_pass.candidates
    ]


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
        rows += [_row(name, group) for name, group in sorted(_groups(outcomes, key).items())]
    return format_table(HEADER, rows)


def speed_table(outcomes: Sequence[ClipOutcome]) -> str:
    """Return a row for each scenario: how many speeds are told, and their errors, in per cent."""
    rows = []
    for scenario, group in sorted(_groups(outcomes, lambda outcome: outcome.scenario).items()):
        speeds = [speed for outcome in group for speed in outcome.speeds]
        told_speeds = [(true, kmh, error) for true, kmh, error in speeds if kmh and error]
        errors = sorted(abs(kmh / true - 1) for true, kmh, _ in told_speeds)
        within = sum(abs(kmh - true) <= error for true, kmh, error in told_speeds)
        shares = (median(errors), errors[9 * len(errors) // 10], errors[-1]) if errors else ()
        cells = (
            [*map(format_percent, shares), format_percent(within / len(told_speeds))]
            if told_speeds
            else []
        )
        rows.append((scenario, len(speeds), len(told_speeds), *cells, *[None] * (4 - len(cells))))
    header = (
        "scenario", "moving", "told", "median error", "nine in ten", "greatest", "within error",
    )  # fmt: skip
    return format_table(header, rows)


def calibration_table(outcomes: Sequence[ClipOutcome]) -> str:
    """Return a row for each bin of scores, and the expected calibration error."""
    rows: list[list[str | int | None]] = []
    for conditions, group in sorted(_groups(outcomes, lambda outcome: outcome.conditions).items()):
        bins = bin_texts([text for outcome in group for text in outcome.texts])
        count = sum(score_bin.count for score_bin in bins)
        error = format_number(expected_calibration_error(bins))
        rows.append([conditions, count, None, None, error])
        for score_bin in bins:
            figures = (format_number(score_bin.score), format_number(score_bin.accuracy), None)
            rows.append([f"  {score_bin.low:g} to {score_bin.high:g}", score_bin.count, *figures])
    return format_table(("score", "texts", "mean score", "right", "ECE"), rows)


def bin_texts(texts: Sequence[tuple[float, bool]]) -> list[ScoreBin]:
    """Return the bins between `EDGES` that hold texts."""
    bins = [
        bin_of_scores([text for text in texts if low <= text[0] < high], low, min(high, 1.0))
        for low, high in pairwise(EDGES)
    ]
    return [score_bin for score_bin in bins if score_bin.count]


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
        "text", "score", "first s", "last s", "looks", "direction", "widths/s", "px", "best s",
    )  # fmt: skip
    return format_table(header, rows)


def _groups(
    outcomes: Iterable[ClipOutcome], key: Callable[[ClipOutcome], str]
) -> dict[str, list[ClipOutcome]]:
    groups: dict[str, list[ClipOutcome]] = {}
    for outcome in outcomes:
        groups.setdefault(key(outcome), []).append(outcome)
    return groups


def _row(name: str, group: Sequence[ClipOutcome]) -> tuple[str | int | None, ...]:
    def total(count: str) -> int:
        return sum(getattr(outcome, count) for outcome in group)

    seconds = [second for outcome in group for second in outcome.agreed_after_s]
    return (
        name,
        total("counted"),
        format_percent(ratio(total("found"), total("counted"))),
        format_percent(ratio(total("exact"), total("found"))),
        format_percent(ratio(total("spurious"), total("passes"))),
        total("split"),
        total("merged"),
        format_percent(ratio(len(seconds), total("counted"))),
        f"{median(seconds):.2f}" if seconds else None,
    )
