"""A report as text for the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from evaluation.figures import PRECISION, Figures

CONFUSIONS = 12
"""So many of the most frequent are printed; all are in `report.json`."""
NOTHING = "-"


def text_of(report: Figures) -> str:
    """Return the tables of a report."""
    parts = [f"{report['way']}, engine {report['engine'] or 'unknown'}"] if "way" in report else []
    if "reading" in report:
        parts += _reading(report["reading"])
    if "detection" in report:
        parts += _detection(report["detection"])
    return "\n\n".join(parts)


def percent(value: float | None) -> str:
    """Write a proportion as a percentage, `-` when there is none."""
    return NOTHING if value is None else f"{100 * value:.1f} %"


def number(value: float | None) -> str:
    """Write a figure with three digits, `-` when there is none."""
    return NOTHING if value is None else f"{value:.3f}"


def aligned(rows: Iterable[Sequence[str]]) -> str:
    """Align columns: the first to the left, the others to the right."""
    cells = [list(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if index else cell.ljust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    )


def _reading(reading: Figures) -> list[str]:
    characters, coverage = reading["characters"], reading["coverage"]
    calibration, sure = reading["calibration"], coverage[f"at_precision_{PRECISION}"]
    standard = reading["std"]
    low_high = standard["read_interval"] or (None, None)
    sure_text = (
        f"{percent(sure['coverage'])} (threshold {number(sure['threshold'])})" if sure else NOTHING
    )
    return [
        f"Reading: {standard['read']} of {standard['plates']} standard plates read exactly, "
        f"{percent(standard['read_rate'])} "
        f"(95 % interval {percent(low_high[0])} to {percent(low_high[1])})",
        _verdicts(reading),
        aligned(
            [
                ("of the standard plates found", ""),
                ("  character error rate", percent(characters["error_rate"])),
                ("  too short / too long", f"{characters['too_short']} / {characters['too_long']}"),
                ("  exact by best path", _count(reading["decoding"]["best_path"])),
                ("  exact by free beam search", _count(reading["decoding"]["free_beam"])),
                ("  exact by beam search in formats", _count(reading["decoding"]["format_beam"])),
                ("  coverage (shown / found)", percent(coverage["coverage"])),
                ("  error (wrong / shown)", percent(coverage["error"])),
                (f"  coverage at {100 * PRECISION:g} % precision", sure_text),
                ("  expected calibration error", number(calibration["ece"])),
                ("  Brier score", number(calibration["brier"])),
            ]
        ),
        _bins("read by width of the box, px", reading["by_width_px"]),
        _bins("read by tilt, degrees", reading["by_tilt_deg"]),
        _confusions(characters["confusions"]),
    ]


def _count(value: int | None) -> str:
    return NOTHING if value is None else str(value)


def _verdicts(reading: Figures) -> str:
    columns = ("plates", "found", "read", "wrong", "not_shown", "missed")
    rows = [
        (kind, *(str(reading[kind][column]) for column in columns), percent(one["read_of_found"]))
        for kind in ("std", "other")
        if (one := reading[kind])["plates"]
    ]
    header = ("type", *(column.replace("_", " ") for column in columns), "read of found")
    return aligned([header, *rows])


def _bins(title: str, rows: Sequence[Figures]) -> str:
    cells = [(one["bin"], f"{one['hits']}/{one['plates']}", percent(one["rate"])) for one in rows]
    return aligned([(title, "", ""), *((f"  {name}", hits, rate) for name, hits, rate in cells)])


def _confusions(rows: Sequence[Figures]) -> str:
    pairs = [
        f"{one['wanted'] or '(none)'} as {one['read'] or '(none)'} {one['count']}"
        for one in rows[:CONFUSIONS]
    ]
    more = f", {len(rows) - CONFUSIONS} more" if len(rows) > CONFUSIONS else ""
    return f"confused characters: {', '.join(pairs) or 'none'}{more}"


def _detection(detection: Figures) -> list[str]:
    rows = [
        (title, *(number(detection[key][column]) for column in columns))
        for title, key in (("service's threshold", "at_threshold"), ("best F1", "at_best_f1"))
        for columns in (("threshold", "precision", "recall", "f1"),)
    ]
    ignored = f", {detection['ignored']} ignored" if detection["ignored"] else ""
    return [
        f"Detection: {detection['labels']} plates in {detection['pictures']} pictures{ignored}, "
        f"mAP50 {number(detection['map50'])}, mAP50-95 {number(detection['map50_95'])}",
        aligned([("IoU 0.5", "threshold", "precision", "recall", "F1"), *rows]),
        _bins("recall by width of the plate, px", detection["by_width_px"]),
    ]
