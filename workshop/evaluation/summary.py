"""Formats a report as text for the terminal, and several reports side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence

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
    NOTHING,
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


def _of_reading(
    title: str,
    figure: Callable[[ReadingResult], float | None],
    format: Callable[[float | None], str] = format_count,
) -> Row[Report]:
    return Row(title, lambda report: figure(report.reading) if report.reading else None, format)


def _of_detection(
    title: str,
    figure: Callable[[DetectionResult], float | None],
    format: Callable[[float | None], str] = format_number,
) -> Row[Report]:
    return Row(title, lambda report: figure(report.detection) if report.detection else None, format)


ROWS = (
    _of_reading("standard plates", lambda reading: reading.std.plates),
    _of_reading("found", lambda reading: reading.std.found_rate, format_percent),
    _of_reading(
        "**read exactly, end to end**", lambda reading: reading.std.read_rate, format_percent
    ),
    _of_reading(
        "read exactly, of those found", lambda reading: reading.std.read_of_found, format_percent
    ),
    _of_reading("wrong (shown)", lambda reading: reading.std.wrong),
    _of_reading("not shown", lambda reading: reading.std.not_shown),
    _of_reading("missed", lambda reading: reading.std.missed),
    _of_reading(
        "character error rate", lambda reading: reading.characters.error_rate, format_percent
    ),
    _of_reading("exact by best path, of those found", lambda reading: reading.decoding.best_path),
    _of_reading("exact by free beam search", lambda reading: reading.decoding.free_beam),
    _of_reading("exact by beam search in formats", lambda reading: reading.decoding.format_beam),
    _of_reading(AT_PRECISION, lambda reading: _covered(reading), format_percent),
    _of_reading(
        "expected calibration error", lambda reading: reading.calibration.ece, format_number
    ),
    _of_reading(
        "calibration error, bins of equal mass",
        lambda reading: reading.calibration.ece_equal_mass,
        format_number,
    ),
    _of_detection("labelled plates, detection", lambda detection: detection.labels, format_count),
    _of_detection("precision", lambda detection: detection.at_threshold.precision),
    _of_detection("recall", lambda detection: detection.at_threshold.recall),
    _of_detection("mAP50", lambda detection: detection.map50),
    _of_detection("mAP50-95", lambda detection: detection.map50_95),
)


def _covered(reading: ReadingResult) -> float | None:
    point = reading.coverage.at_precision
    return point.coverage if point else None


def write_comparison(reports: Sequence[Report]) -> str:
    """Return the main figures of reports as a Markdown table, with a column for each report.

    If several reports have conditions, the tables of conditions follow.
    """
    header = ("", *(report.name for report in reports))
    conditions = {report.name: report.conditions for report in reports if report.conditions}
    headline = format_markdown(header, compare(ROWS, reports))
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
        _tabulate_found(reading),
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


def _tabulate_found(reading: ReadingResult) -> str:
    characters, decoding, coverage = reading.characters, reading.decoding, reading.coverage
    sure = coverage.at_precision
    return format_table(
        ("of the standard plates found", ""),
        [
            ("  character error rate", format_percent(characters.error_rate)),
            ("  too short / too long", f"{characters.too_short} / {characters.too_long}"),
            ("  exact by best path", decoding.best_path),
            ("  exact by free beam search", decoding.free_beam),
            ("  exact by beam search in formats", decoding.format_beam),
            ("  coverage (shown / found)", format_percent(coverage.coverage)),
            ("  error (wrong / shown)", format_percent(coverage.error)),
            (
                f"  {AT_PRECISION}",
                f"{format_percent(sure.coverage)} (threshold {format_number(sure.threshold)})"
                if sure
                else NOTHING,
            ),
            ("  expected calibration error", format_number(reading.calibration.ece)),
            (
                "  calibration error, bins of equal mass",
                format_number(reading.calibration.ece_equal_mass),
            ),
            ("  Brier score", format_number(reading.calibration.brier)),
        ],
    )


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
