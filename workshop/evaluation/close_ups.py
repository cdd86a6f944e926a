"""Counts the close-ups that are found and read, by the plate's width and turn.

    python -m workshop.rendering.close_ups --out close_ups
    python -m workshop.evaluation.close_ups close_ups

A plate is found if a detection has an IoU of at least 0.5 with its box. It is read if a shown text
is exactly its text. Other shown texts are wrong.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
import typer

from orchestrator.detection.boxes import iou
from orchestrator.errors import PlateError
from orchestrator.plates import Plates
from workshop.evaluation.datasets import read_rows
from workshop.evaluation.detection import IOU_THRESHOLD
from workshop.evaluation.outcomes import open_picture
from workshop.evaluation.proportions import bin_names, bin_of
from workshop.evaluation.recognizers import Recognizer, RecognizerOptions, open_recognizer
from workshop.evaluation.yolo_labels import Box
from workshop.reporting.files import write_csv
from workshop.reporting.tables import format_table

SHARE_EDGES = (0.5, 0.7, 0.85)
TURN_EDGES_DEG = (10.0, 20.0, 30.0)
COLUMNS = ("image", "text", "x0", "y0", "x1", "y1", "share", "turn_deg")


@dataclass(frozen=True)
class Judged:
    """The judged answer for one close-up.

    Attributes:
        image: The file name.
        share: The width of the plate's box, as a share of the picture's width.
        turn_deg: The turn of the plate.
        is_found: True if a detection fits the plate's box.
        is_read: True if the plate's text is shown.
        wrong: The number of other texts that are shown.
    """

    image: str
    share: float
    turn_deg: float
    is_found: bool
    is_read: bool
    wrong: int


def judge_close_ups(folder: Path, recognizer: Recognizer) -> Iterator[Judged]:
    """Read the close-ups of a folder.

    Raises:
        DataError: Data is missing or malformed.
    """
    for _, row in read_rows(folder / "labels.csv", COLUMNS):
        plates = recognizer.read(open_picture(folder / "images" / row["image"])).plates
        x0, y0, x1, y1 = (float(row[side]) for side in ("x0", "y0", "x1", "y1"))
        shown = [text for text in plates.texts if text]
        yield Judged(
            image=row["image"],
            share=float(row["share"]),
            turn_deg=float(row["turn_deg"]),
            is_found=_is_found((x0, y0, x1, y1), plates),
            is_read=row["text"] in shown,
            wrong=sum(text != row["text"] for text in shown),
        )


def _is_found(xyxy: Box, plates: Plates) -> bool:
    boxes = torch.tensor([plate.xyxy for plate in plates]).reshape(-1, 4)
    return bool((iou(boxes, torch.tensor([xyxy])) >= IOU_THRESHOLD).any())


def count(judged: Sequence[Judged]) -> str:
    """Return a table of all close-ups, by width and by turn."""
    rows = [("all", judged)]
    rows += _by("width", judged, SHARE_EDGES, lambda one: one.share)
    rows += _by("turn", judged, TURN_EDGES_DEG, lambda one: abs(one.turn_deg))
    header = ("", "pictures", "found", "read", "found and read", "wrong texts")
    return format_table(header, [(name, *_count(some)) for name, some in rows])


def _by(
    name: str,
    judged: Sequence[Judged],
    edges: tuple[float, ...],
    value: Callable[[Judged], float],
) -> list[tuple[str, Sequence[Judged]]]:
    names = bin_names(edges)
    bins = [[one for one in judged if bin_of(value(one), edges) == i] for i in range(len(names))]
    return [(f"{name} {of_bin}", some) for of_bin, some in zip(names, bins, strict=True)]


def _count(judged: Sequence[Judged]) -> tuple[int, ...]:
    return (
        len(judged),
        sum(one.is_found for one in judged),
        sum(one.is_read for one in judged),
        sum(one.is_found and one.is_read for one in judged),
        sum(one.wrong for one in judged),
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table, and write a row for each picture if asked to."""
    parser = argparse.ArgumentParser("workshop.evaluation.close_ups", description="Close-ups.")
    parser.add_argument("folder", type=Path, help="of workshop.rendering.close_ups")
    parser.add_argument("--weights", type=Path, help="folder of the weights; the project's")
    parser.add_argument("--threads", type=int, default=0, help="of the CPU; all cores")
    parser.add_argument("--rows", type=Path, help="CSV file to write, a row for each picture")
    given = parser.parse_args(arguments)
    options = RecognizerOptions(weights=given.weights, threads=given.threads)
    try:
        with open_recognizer(options) as recognizer:
            judged = list(judge_close_ups(given.folder, recognizer))
    except (PlateError, OSError) as error:
        parser.exit(2, f"{parser.prog}: {error}\n")
    typer.echo(count(judged))
    if given.rows:
        write_csv(Judged, judged, given.rows)


if __name__ == "__main__":
    main()
