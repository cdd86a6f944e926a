"""Writes the parts of the pages that show published figures."""

from __future__ import annotations

from functools import partial
from textwrap import fill

from orchestrator.errors import DataError
from orchestrator.networks import quantized
from orchestrator.networks.registry import NETWORKS
from orchestrator.networks.weights import WEIGHTS
from workshop.evaluation.conditions.condition_measurement import compare_conditions, compare_curves
from workshop.evaluation.pairing import interpret
from workshop.evaluation.publishing.published import (
    AS_LABELLED,
    FLOAT32,
    OURS,
    PREDECESSOR,
    PREDECESSOR_ALL,
    SIDES_PX,
    TORCHSCRIPT,
    UNLABELLED,
    Published,
    PublishedReading,
    PublishedRun,
)
from workshop.evaluation.results import DetectionResult, OperatingPoint, Verdicts
from workshop.evaluation.summary import AT_PRECISION
from workshop.reporting.files import rewrite
from workshop.reporting.tables import Cell, format_markdown, format_number, format_percent

PROJECT = WEIGHTS.parent
PAGES = (PROJECT / "README.md", PROJECT / "docs" / "accuracy.md", WEIGHTS / "README.md")
WIDTH = 140


def render(page: str, figures: Published) -> str:
    """Return a page with each of its parts written from the figures.

    Raises:
        DataError: The page has no part, or a part without a writer.
    """
    return rewrite(page, {name: partial(write, figures) for name, write in PARTS.items()})


def _reading(figures: Published, name: str) -> PublishedReading:
    reading = figures.runs[name].reading
    if reading is None:
        raise DataError(f"figures: wanted the readings of {name}, got none")
    return reading


def _detection(figures: Published, name: str) -> DetectionResult:
    detection = figures.runs[name].detection
    if detection is None:
        raise DataError(f"figures: wanted the detection of {name}, got none")
    return detection


def write_headline(figures: Published) -> str:
    """Write the rates of found and read plates, ours beside the predecessor's."""
    ours, theirs = _reading(figures, OURS), _reading(figures, PREDECESSOR)
    detection, run = _detection(figures, OURS), figures.runs[OURS]
    rows = _headline_rows(ours, theirs, detection)
    before = (
        f"{ours.std.plates} standard plates on photos of Russian cars that were never trained on, "
        f"through the pipeline that answers requests ({run.detector_side_px} px, {_engines(run)}); "
        f"and {detection.pictures} other photos for detection, {detection.ignored} plates that "
        "nobody labelled set aside:"
    )
    after = f"{_write_test(figures)} A text is shown from a score of {run.text_threshold:g} on."
    header = ("", "ours", "the predecessor's STN and LPRNet behind our detector")
    return _paragraphs(before, format_markdown(header, rows), after)


def write_readme(figures: Published) -> str:
    """Write the share of read plates in one line."""
    std = _reading(figures, OURS).std
    return (
        f"It reads {std.read} of {std.plates} plates ({format_percent(std.read / std.plates)}) on "
        "[photos of Russian cars](docs/accuracy.md) that were never trained on."
    )


def _headline_rows(
    ours: PublishedReading, theirs: PublishedReading, detection: DetectionResult
) -> list[tuple[Cell, ...]]:
    return [
        ("the plate is found", ours.std.found, theirs.std.found),
        ("**read exactly**", f"**{_describe_read(ours.std)}**", _describe_read(theirs.std)),
        ("another text is shown", ours.std.wrong, theirs.std.wrong),
        ("nothing is shown, not sure enough", ours.std.not_shown, theirs.std.not_shown),
        *_calibration_rows(ours, theirs),
        ("detection, IoU 0.5: mAP50", format_number(detection.map50), None),
        (_at_threshold(detection), _point(detection.at_threshold), None),
        ("precision / recall at best F1", _point(detection.at_best_f1), None),
    ]


def write_files(figures: Published) -> str:
    """Write a table of the weight files and the number of parameters of their networks."""
    networks = {
        "yolo": "YOLOv5n, one class",
        "stn": "spatial transformer, affine",
        "lprnet": "LPRNet, the characters and the blank",
    }
    rows = []
    for name, title in networks.items():
        count = f"{figures.parameters[name] / 1e6:.2f} M"
        code = f"`orchestrator/networks/{name}.py`"
        rows.append((f"`{NETWORKS[name].weights}`", title, count, code))
        if quantized.file_of(name).exists():
            files, code = f"`{name}.int8.xml`, `.bin`", "`workshop/training/quantization.py`"
            rows.append((files, "the same in 8-bit integers, for OpenVINO on CPUs", count, code))
    return format_markdown(("file", "network", "parameters", "code"), rows)


def write_data(figures: Published) -> str:
    """Write the description of the data, the machine and the software."""
    reading, machine = _reading(figures, OURS), figures.machine
    versions = ", ".join(f"{name} {version}" for name, version in machine.packages.items())
    scenes = (
        f'"Scenes" below are photos of Russian cars from near, one labelled plate each: '
        f"{reading.std.plates} of the standard format and {reading.other.plates} of others that "
        "can be read. They were never trained on. They were looked at, and chose the detector's "
        "input size and the crops' margins; they compared shares of the reader's last trainings in "
        "its weights. So they are no blind test."
    )
    cores = "1 core" if machine.cores == 1 else f"{machine.cores} cores"
    return _paragraphs(scenes, f"Measured on {machine.cpu}, {cores}, {versions}.")


def write_sides(figures: Published) -> str:
    """Write the effect of the size of the detector's input, in float32."""
    runs = [figures.runs[str(side)] for side in SIDES_PX] + [figures.runs[FLOAT32]]
    return format_markdown(
        ("side, px", "mAP50", "mAP50-95", "P / R at the service's threshold", "P / R at best F1",
         "standard plates found, read"),
        [_side_row(run) for run in runs],
    )  # fmt: skip


def _side_row(run: PublishedRun) -> tuple[Cell, ...]:
    detection, reading = run.detection, run.reading
    if detection is None or reading is None:
        raise DataError("figures: wanted detection and readings of each size, got one of them")
    return (run.detector_side_px, *_detection_cells(detection), _describe_found(reading))


def write_labels(figures: Published) -> str:
    """Write the effect of the labels of the validation photos on the figures."""
    clean, raw = _detection(figures, OURS), _detection(figures, AS_LABELLED)
    rows = [
        (title, *_detection_cells(detection))
        for title, detection in (("set aside", clean), ("as they came", raw))
    ]
    text = (
        f"The {clean.pictures} validation photos carry {clean.labels} labels. {clean.ignored} "
        "further plates in them, found by eye among this detector's false alarms, are set aside "
        f"(`workshop/evaluation/{UNLABELLED.name}`); where a person was not sure, the false alarm "
        "counts. "
        "A list made in this way can only raise precision. Both ways, in 8-bit integers:"
    )
    header = ("labels", "mAP50", "mAP50-95", "P / R at the service's threshold", "P / R at best F1")
    return _paragraphs(text, format_markdown(header, rows))


def write_engines(figures: Published) -> str:
    """Write the effect of each engine of the detector on the figures."""
    names = (OURS, FLOAT32, TORCHSCRIPT)
    detections = [_detection(figures, name) for name in names]
    readings = [_reading(figures, name) for name in names]
    precisions = [f"{detection.map50:.3f} / {detection.map50_95:.3f}" for detection in detections]
    points = [detection.at_threshold for detection in detections]
    best_points = [detection.at_best_f1 for detection in detections]
    rows: list[tuple[Cell, ...]] = [
        ("standard plates of the scenes found, read", *map(_describe_found, readings)),
        ("mAP50 / mAP50-95", *precisions),
        (_at_threshold(detections[0]), *map(_point, points)),
        ("precision / recall at best F1", *map(_point, best_points)),
    ]
    return format_markdown(("", *(figures.runs[name].engines["yolo"] for name in names)), rows)


def write_reader(figures: Published) -> str:
    """Write the comparison of our reader with the predecessor's."""
    names = (OURS, PREDECESSOR, PREDECESSOR_ALL)
    all_of = [_reading(figures, name) for name in names]
    rows: list[tuple[Cell, ...]] = [
        ("standard plates read, end to end", *(_describe_read(reading.std) for reading in all_of)),
        (
            "wrong (shown), not shown",
            *(f"{reading.std.wrong}, {reading.std.not_shown}" for reading in all_of),
        ),
        (
            "plates of other formats read",
            *(f"{reading.other.read} of {reading.other.plates}" for reading in all_of),
        ),
        ("best path / beam in formats", *map(_describe_decoding, all_of)),
        (AT_PRECISION, *map(_describe_coverage, all_of)),
        *_calibration_rows(*all_of),
    ]
    header = ("scenes", "ours", "the predecessor's pair behind our detector, crops and decoder",
              "the same, every text shown")  # fmt: skip
    return _paragraphs(format_markdown(header, rows), _write_test(figures))


def write_conditions(figures: Published) -> str:
    """Write the reading of scenes under conditions, by ours and by the predecessor's pair."""
    ours, theirs = (figures.runs[name].conditions for name in (OURS, PREDECESSOR))
    if ours is None or theirs is None:
        return "Not measured yet with these weights.\n"
    text = (
        f"The {ours.mean.std.plates // len(ours.each)} standard plates of the scenes under "
        f"{len(ours.each)} conditions, behind the same detector. The text scores' expected "
        f"calibration error is {format_number(ours.each[0].ece)} on the scenes as they are, and "
        f"{format_number(ours.mean.ece)} over all conditions together."
    )
    both = {"ours": ours, "the predecessor's pair": theirs}
    after = "The part that is read where the scenes are scaled down, turned and smeared:"
    return _paragraphs(text, compare_conditions(both), after, compare_curves(both))


def _write_test(figures: Published) -> str:
    test = figures.against_predecessor
    return (
        f"Plate by plate, ours reads {test.won} that the predecessor's pair does not, and misses "
        f"{test.lost} that it reads (p = {test.p_value:.2g} by McNemar's exact test: "
        f"{interpret(test.p_value)})."
    )


def _calibration_rows(*readings: PublishedReading) -> list[tuple[Cell, ...]]:
    title = "expected calibration error of `text_scores`, bins of equal"
    return [
        (f"{title} width", *(format_number(reading.ece) for reading in readings)),
        (f"{title} mass", *(format_number(reading.ece_equal_mass) for reading in readings)),
    ]


def _describe_found(reading: PublishedReading) -> str:
    return f"{reading.std.found}, {reading.std.read}"


def _describe_read(std: Verdicts) -> str:
    low, high = std.read_interval or (None, None)
    interval = f"{format_percent(low).removesuffix(' %')} to {format_percent(high)}"
    return f"{std.read} ({format_percent(std.read_rate)}; 95 % interval {interval})"


def _describe_decoding(reading: PublishedReading) -> str:
    decoding = reading.decoding
    return f"{decoding.best_path} / {decoding.format_beam}"


def _describe_coverage(reading: PublishedReading) -> str:
    return format_percent(reading.at_precision.coverage if reading.at_precision else None)


def _detection_cells(detection: DetectionResult) -> tuple[Cell, ...]:
    numbers = (format_number(detection.map50), format_number(detection.map50_95))
    return (*numbers, _point(detection.at_threshold), _point(detection.at_best_f1))


def _at_threshold(detection: DetectionResult) -> str:
    return f"precision / recall at the service's threshold of {detection.at_threshold.threshold:g}"


def _point(point: OperatingPoint) -> str:
    return f"{format_number(point.precision)} / {format_number(point.recall)}"


def _engines(run: PublishedRun) -> str:
    return ", ".join(f"{name} {engine}" for name, engine in run.engines.items())


def _paragraphs(*parts: str) -> str:
    """Join texts and tables; texts are wrapped like the rest of the pages."""
    wrapped = (part if part.startswith("|") else _wrap(part) for part in parts)
    return "\n\n".join(part.rstrip("\n") for part in wrapped) + "\n"


def _wrap(text: str) -> str:
    return fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


PARTS = {
    "readme": write_readme,
    "headline": write_headline,
    "files": write_files,
    "data": write_data,
    "sides": write_sides,
    "labels": write_labels,
    "engines": write_engines,
    "reader": write_reader,
    "conditions": write_conditions,
}
"""The function that writes each part, by name."""
