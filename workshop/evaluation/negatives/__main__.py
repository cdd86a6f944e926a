"""Measures how often a text is shown where no plate is.

`python -m workshop.evaluation.negatives` is the command. It reads rendered pictures without plates,
photos whose plates are labelled, or both; docs/evaluation.md describes it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import torch
import typer

from orchestrator.cli.flags import EngineOption, ThreadsOption, WeightsOption, show_errors
from orchestrator.errors import DataError
from orchestrator.networks.engines import Engine
from orchestrator.pipeline import Infer, recognize
from orchestrator.plates import Plates
from orchestrator.settings import Settings
from workshop.evaluation.datasets import SIDES, list_pictures, read_ignored, read_labels, to_pixels
from workshop.evaluation.negatives.false_texts import (
    FalseAlarm,
    SearchedPicture,
    Tally,
    collect_alarms,
)
from workshop.evaluation.outcomes import open_picture
from workshop.evaluation.recognizers import load_here
from workshop.rendering.plateless.plateless_pictures import draw_plateless
from workshop.reporting.files import explain_write_errors, prepare_folder, write_rows
from workshop.reporting.sheets import write_sheets
from workshop.reporting.tables import Rows, format_table

THRESHOLDS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""Text thresholds of the table."""
SEED = 20_000
"""Seed of the rendered pictures; no training uses it."""


COLUMNS = ("image", *SIDES, "text", "text_score", "detection_score", "cause")
"""The columns of `shown.csv`; the first five are those of a list of plates to set aside."""


def draw_views(count: int, seed: int) -> Iterator[SearchedPicture]:
    """Draw pictures without plates."""
    for index, sample in enumerate(draw_plateless(count, seed)):
        yield SearchedPicture(f"{index:04d}", sample.picture, things=sample.things)


def open_views(
    pictures: Path, labels: Path, ignore: Path | None = None
) -> Iterator[SearchedPicture]:
    """Open the photos of a folder.

    Args:
        pictures: The folder of the photos.
        labels: The folder of their YOLO labels; a photo without a label file has no plates.
        ignore: CSV of plates without a label.

    Raises:
        DataError: Data is missing or malformed.
    """
    paths = list_pictures(pictures)
    if not labels.is_dir():
        raise DataError(f"{labels}: wanted a folder of labels, got none")
    ignored = read_ignored(ignore, paths, is_needed=True) if ignore else {}
    for path in paths:
        picture = open_picture(path).numpy()
        size_wh = (picture.shape[1], picture.shape[0])
        boxes = [to_pixels(box, size_wh) for box in read_labels(labels / f"{path.stem}.txt")]
        yield SearchedPicture(path.name, picture, (*boxes, *ignored.get(path.name, ())))


def read_all(
    views: Iterable[SearchedPicture], infer: Infer, settings: Settings
) -> Iterator[tuple[SearchedPicture, Plates]]:
    """Find and read all possible plates; texts with any score are shown."""
    every = replace(settings, text_threshold=0.0)
    for view in views:
        yield view, recognize(torch.from_numpy(view.picture), infer, every)


def describe(name: str, tally: Tally, threshold: float) -> str:
    """Return the figures of a set: how many texts are shown, and the table of causes."""
    shown_alarms, (low, high) = tally.list_shown(threshold), tally.interval(threshold)
    per_1000 = 1000 / max(1, tally.pictures)
    picture_count = tally.count_pictures(threshold)
    lines = [
        f"{name}: {tally.pictures} pictures, {len(tally.alarms)} detections of no plate, "
        f"{len(shown_alarms)} texts shown from a score of {threshold:g} on",
        f"texts shown per 1,000 pictures: {len(shown_alarms) * per_1000:.1f}; "
        f"pictures that show one: {picture_count * per_1000:.1f} "
        f"(95 % interval {1000 * low:.1f} to {1000 * high:.1f})",
        _by_cause(tally, shown_alarms),
    ]
    return "\n".join(lines)


def _by_cause(tally: Tally, shown_alarms: list[FalseAlarm]) -> str:
    """Return a table: how many things there are, are detected, and show a text."""
    detected = [alarm.cause for alarm in tally.alarms]
    causes = sorted({*tally.thing_counts, *detected})
    texts = [alarm.cause for alarm in shown_alarms]
    rows = [
        (cause, tally.thing_counts.get(cause), detected.count(cause), texts.count(cause))
        for cause in causes
    ]
    return format_table(("cause", "drawn", "detected", "shown"), rows)


def compare_thresholds(sets: Mapping[str, Tally]) -> str:
    """Return a table: what is shown at other text thresholds."""
    header = ["threshold", *(f"no plate, {name}" for name in sets)]
    rows: Rows = [
        (f"{threshold:g}", *(len(tally.list_shown(threshold)) for tally in sets.values()))
        for threshold in THRESHOLDS
    ]
    return format_table(header, rows)


def write_shown(name: str, shown_alarms: list[FalseAlarm], folder: Path) -> None:
    """Write the texts shown as a table and as sheets, surest first."""
    write_sheets(
        (alarm.tile for alarm in shown_alarms if alarm.tile is not None), folder, f"{name}_shown"
    )
    write_rows(COLUMNS, map(_row_of, shown_alarms), folder / f"{name}_shown.csv")


def _row_of(alarm: FalseAlarm) -> dict[str, object]:
    scores = round(alarm.text_score, 4), round(alarm.detection_score, 4)
    sides = (round(side, 1) for side in alarm.xyxy)
    values = (alarm.image, *sides, alarm.text, *scores, alarm.cause)
    return dict(zip(COLUMNS, values, strict=True))


def _watch(views: Iterable[SearchedPicture], count: int, label: str) -> Iterator[SearchedPicture]:
    """Show the progress of a loop on stderr."""
    with typer.progressbar(views, length=count, label=label, file=sys.stderr) as bar:
        yield from bar


def negatives(
    count: Annotated[
        int, typer.Option(min=0, help="Number of rendered pictures; 0: photos alone.")
    ] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the rendered pictures.")] = SEED,
    pictures: Annotated[Path | None, typer.Option(help="Folder of photos, too.")] = None,
    labels: Annotated[
        Path | None, typer.Option(help="Folder of the photos' YOLO labels: their plates.")
    ] = None,
    ignore: Annotated[
        Path | None, typer.Option(help="CSV of the photos' plates without a label.")
    ] = None,
    text_threshold: Annotated[
        float | None, typer.Option(min=0, max=1, help="Lowest score of a text that is shown.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the sheets.")] = Path("reports/negatives"),
    weights: WeightsOption = None,
    engine: EngineOption = Engine.AUTO,
    threads: ThreadsOption = 0,
) -> None:
    """Measure how often a text is shown where no plate is."""
    with show_errors(verbose=False):
        if (pictures is None) != (labels is None):
            raise DataError("photos: wanted --pictures and --labels, got one of them")
        if not count and pictures is None:
            raise DataError("data: wanted a count of rendered pictures or --pictures, got neither")
        infer, settings = load_here(weights, engine, threads), Settings()
        threshold = settings.text_threshold if text_threshold is None else text_threshold
        prepare_folder(out)
        sets: dict[str, Tally] = {}
        if count:
            views = _watch(draw_views(count, seed), count, "rendered")
            sets["rendered"] = collect_alarms(read_all(views, infer, settings), threshold)
        if pictures and labels:
            number = len(list_pictures(pictures))
            views = _watch(open_views(pictures, labels, ignore), number, "photos")
            sets["photos"] = collect_alarms(read_all(views, infer, settings), threshold)
        for name, tally in sets.items():
            typer.echo(describe(name, tally, threshold) + "\n")
            with explain_write_errors(out):
                write_shown(name, tally.list_shown(threshold), out)
        typer.echo(compare_thresholds(sets))
        typer.echo(f"\nsheets in {out}", err=True)


app = typer.Typer()
app.command()(negatives)

if __name__ == "__main__":
    app()
