"""Formats a report as text for the terminal, and several reports side by side."""

from __future__ import annotations

from collections.abc import Sequence

from workshop.evaluation.conditions.condition_measurement import (
    compare_conditions,
    compare_curves,
    summarize_conditions,
)
from workshop.evaluation.reading import Confusion
from workshop.evaluation.results import (
    PRECISION,
    DetectionResult,
    HitRate,
    OperatingPoint,
    ReadingResult,
    Report,
    Verdicts,
)
from workshop.reporting.tables import (
    Row,
    compare,
    format_count,
    format_markdown,
    format_number,
    format_percent,
    format_table,
)

CONFUSIONS = 12
"""The number of the most frequent confusions that are printed; `report.json` has all."""
AT_PRECISION = f"coverage at {100 * PRECISION:g} % precision"


FOUND: tuple[Row[ReadingResult], ...] = (
    Row("character error rate", lambda reading: reading.characters.error_rate, format_percent),
    Row(
        "exact by best path, of those found",
        lambda reading: reading.decoding.best_path,
        format_count,
    ),
    Row(
        "exact by beam search in formats",
        lambda reading: reading.decoding.format_beam,
        format_count,
    ),
    Row("coverage (shown of found)", lambda reading: reading.coverage.coverage, format_percent),
    Row("error (wrong of shown)", lambda reading: reading.coverage.error, format_percent),
    Row(AT_PRECISION, lambda reading: _find_coverage(reading), format_percent),
    Row("Brier score", lambda reading: reading.calibration.brier, format_number),
    Row("expected calibration error", lambda reading: reading.calibration.ece, format_number),
    Row(
        "calibration error, bins of equal mass",
        lambda reading: reading.calibration.ece_equal_mass,
        format_number,
    ),
)
READING: tuple[Row[ReadingResult], ...] = (
    Row("standard plates", lambda reading: reading.std.plates, format_count),
    Row("found", lambda reading: reading.std.found_rate, format_percent),
    Row("**read exactly, end to end**", lambda reading: reading.std.read_rate, format_percent),
    Row("read exactly, of those found", lambda reading: reading.std.read_of_found, format_percent),
    Row("wrong (shown)", lambda reading: reading.std.wrong, format_count),
    Row("not shown", lambda reading: reading.std.not_shown, format_count),
    Row("missed", lambda reading: reading.std.missed, format_count),
    *FOUND,
)
DETECTION: tuple[Row[DetectionResult], ...] = (
    Row("labelled plates, detection", lambda detection: detection.labels, format_count),
    Row("precision", lambda detection: detection.at_threshold.precision, format_number),
    Row("recall", lambda detection: detection.at_threshold.recall, format_number),
    Row("mAP50", lambda detection: detection.map50, format_number),
    Row("mAP50-95", lambda detection: detection.map50_95, format_number),
)


def _find_coverage(reading: ReadingResult) -> float | None:
    point = reading.coverage.at_precision
    return point.coverage if point else None


def write_comparison(reports: Sequence[Report]) -> str:
    """Return the main figures of reports as a Markdown table, with a column for each report.

    If several reports have conditions, the tables of conditions follow.
    """
    header = ("", *(report.name for report in reports))
    conditions = {report.name: report.conditions for report in reports if report.conditions}
    rows = compare(READING, [report.reading for report in reports])
    rows += compare(DETECTION, [report.detection for report in reports])
    headline = format_markdown(header, rows)
    if len(conditions) < 2:
        return headline
    return "\n".join((headline, compare_conditions(conditions), compare_curves(conditions)))


def summarize(report: Report) -> str:
    """Return the tables of a report as text."""
    engines = ", ".join(f"{name} {engine}" for name, engine in report.engines.items())
    parts = [f"{report.way}, {engines or 'engines unknown'}"]
    if report.reading:
        parts += _summarize_reading(report.reading)
    if report.conditions:
        parts += summarize_conditions(report.conditions)
    if report.detection:
        parts += _summarize_detection(report.detection)
    return "\n\n".join(parts)


def _summarize_reading(reading: ReadingResult) -> list[str]:
    std = reading.std
    low, high = std.read_interval or (None, None)
    return [
        f"Reading: {std.read} of {std.plates} standard plates read exactly, "
        f"{format_percent(std.read_rate)} "
        f"(95 % interval {format_percent(low)} to {format_percent(high)})",
        format_table(
            ("type", "plates", "found", "read", "wrong", "not shown", "missed", "read of found"),
            [
                _verdict_row(kind, verdicts)
                for kind, verdicts in (("std", std), ("other", reading.other))
                if verdicts.plates
            ],
        ),
        format_table(("of the standard plates", ""), compare(FOUND, [reading])),
        _tabulate_bins("read by width of the box, px", reading.by_width_px),
        _tabulate_bins("read by tilt, degrees", reading.by_tilt_deg),
        *([_tabulate_bins("read by format", reading.by_format)] if reading.by_format else []),
        _list_confusions(reading.characters.confusions),
    ]


def _verdict_row(kind: str, verdicts: Verdicts) -> tuple[str | int, ...]:
    counts = (
        verdicts.plates,
        verdicts.found,
        verdicts.read,
        verdicts.wrong,
        verdicts.not_shown,
        verdicts.missed,
    )
    return (kind, *counts, format_percent(verdicts.read_of_found))


def _tabulate_bins(title: str, bins: Sequence[HitRate]) -> str:
    rows = [
        (f"  {hit_rate.bin}", f"{hit_rate.hits}/{hit_rate.plates}", format_percent(hit_rate.rate))
        for hit_rate in bins
    ]
    return format_table((title, "", ""), rows)


def _list_confusions(confusions: Sequence[Confusion]) -> str:
    pairs = [
        f"{confusion.wanted or '(none)'} as {confusion.read or '(none)'} {confusion.count}"
        for confusion in confusions[:CONFUSIONS]
    ]
    more = f", {len(confusions) - CONFUSIONS} more" if len(confusions) > CONFUSIONS else ""
    return f"confused characters: {', '.join(pairs) or 'none'}{more}"


def _summarize_detection(detection: DetectionResult) -> list[str]:
    ignored = f", {detection.ignored} ignored" if detection.ignored else ""
    return [
        f"Detection: {detection.labels} plates in {detection.pictures} pictures{ignored}, "
        f"mAP50 {format_number(detection.map50)}, mAP50-95 {format_number(detection.map50_95)}",
        format_table(
            ("IoU 0.5", "threshold", "precision", "recall", "F1"),
            [
                _point_row("service's threshold", detection.at_threshold),
                _point_row("best F1", detection.at_best_f1),
            ],
        ),
        _tabulate_bins("recall by width of the plate, px", detection.by_width_px),
    ]


def _point_row(title: str, point: OperatingPoint) -> tuple[str, ...]:
    figures = (point.threshold, point.precision, point.recall, point.f1)
    return (title, *map(format_number, figures))
