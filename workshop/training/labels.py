"""Search for unlabelled plates in a data set: a detector suggests them, and a person judges each.

Plates without a label teach a detector not to find plates. A first detector still finds most of
them. This module lists its detections without a label, on contact sheets and in a table with an
empty `verdict` column. A person fills the column in; then `--apply` writes a completed copy:

* `plate`: a label is added,
* `unsure` (cut off, blurred, overexposed): the area is blurred, so that it teaches nothing,
* anything else: nothing changes; the area stays a negative example.

    python -m workshop.training.labels --data DATA --weights yolo.pt --out REVIEW
    python -m workshop.training.labels --data DATA --apply REVIEW/review.csv --out COMPLETED
"""

from __future__ import annotations

import argparse
import csv
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import cv2
import numpy as np
import torch
from torch import Tensor, nn

from orchestrator.detection.boxes import area, nms
from orchestrator.detection.letterbox import letterbox
from orchestrator.errors import PlateError, WeightsError
from orchestrator.imaging.decoding import read_picture
from orchestrator.imaging.files import Bgr
from orchestrator.networks.state_dicts import read_state
from orchestrator.networks.yolo import Yolo
from workshop.evaluation.yolo_labels import Box, append_label, label_file, read_labels, to_pixels
from workshop.reporting.files import write_csv
from workshop.reporting.sheets import add_caption, cut_out, draw_outline, write_sheets

SIDES_PX = (640, 960)
SCORE = 0.3
OVERLAP = 0.4
"""Two boxes that share more than this part of the smaller one count as the same plate."""
TILE_WH, TILE_SPAN = (240, 96), 3.0
RED = (0, 0, 255)


@dataclass(frozen=True)
class Suggestion:
    """A row of `review.csv`: a box in pixels that may be a plate; a person fills in `verdict`."""

    file: str
    x0: float
    y0: float
    x1: float
    y1: float
    score: float
    verdict: str = ""

    @property
    def box(self) -> Box:
        return self.x0, self.y0, self.x1, self.y1


@torch.inference_mode()
def detect(network: nn.Module, picture: Tensor) -> Tensor:
    """Return detections [N, 5] xyxy, score of one uint8 [H, W, 3] picture at several sizes."""
    detections = []
    for side_px in SIDES_PX:
        boxed = letterbox(picture, side_px)
        rows = network(boxed.net)[0].numpy()
        rows = rows[rows[:, 4] >= SCORE]
        detections.append(np.concatenate((boxed.to_source(rows[:, :4]), rows[:, 4:5]), 1))
    rows = np.concatenate(detections)
    return torch.from_numpy(rows[nms(rows[:, :4], rows[:, 4], OVERLAP)])


def are_apart(xyxy: Tensor, others: Tensor) -> Tensor:
    """Tell which boxes [N, 4] share at most OVERLAP of the smaller area with any of [M, 4]."""
    top_left = torch.maximum(xyxy[:, None, :2], others[None, :, :2])
    bottom_right = torch.minimum(xyxy[:, None, 2:], others[None, :, 2:])
    shared = (bottom_right - top_left).clamp(min=0).prod(dim=2)
    smaller = torch.minimum(area(xyxy)[:, None], area(others)[None])
    result: Tensor = (shared <= OVERLAP * smaller).all(dim=1)
    return result


def find_unlabelled(data: Path, network: nn.Module) -> Iterator[Suggestion]:
    """Yield each detection in the training pictures that has no label."""
    for path in sorted((data / "images" / "train").iterdir()):
        picture = read_picture(path)
        detections = detect(network, picture)
        size_wh = (picture.shape[1], picture.shape[0])
        known = [to_pixels(box, size_wh) for box in read_labels(label_file(path))]
        for row in detections[
            are_apart(detections[:, :4], torch.tensor(known).reshape(-1, 4))
        ].tolist():
            x0, y0, x1, y1 = (round(side, 1) for side in row[:4])
            yield Suggestion(path.name, x0, y0, x1, y1, round(row[4], 3))


def draw_tile(picture: Bgr, suggestion: Suggestion, number: int) -> Bgr:
    """Draw a suggestion with its surroundings."""
    view, affine = cut_out(picture, suggestion.box, TILE_WH, TILE_SPAN)
    x0, y0, x1, y1 = suggestion.box
    draw_outline(view, affine, ((x0, y0), (x1, y0), (x1, y1), (x0, y1)), RED)
    return add_caption(view, f"{number} {suggestion.score:.2f}")


def suggest(data: Path, weights: Path, out: Path) -> None:
    """Write `review.csv` and numbered contact sheets to `out`.

    Raises:
        WeightsError: The weights cannot be read, or belong to another network.
        PictureError: A picture cannot be read.
        OSError: A folder cannot be read or written.
    """
    network = _load(weights)
    out.mkdir(parents=True, exist_ok=True)
    suggestions = list(find_unlabelled(data, network))
    write_csv(Suggestion, suggestions, out / "review.csv")
    images = data / "images" / "train"
    tiles = (
        draw_tile(read_picture(images / suggestion.file).numpy(), suggestion, number)
        for number, suggestion in enumerate(suggestions)
    )
    write_sheets(tiles, out, "sheet", columns=6, rows=10)


def _load(weights: Path) -> Yolo:
    network, state = Yolo().eval(), read_state(weights)
    try:
        network.load_state_dict(state)
    except RuntimeError as error:
        raise WeightsError(f"{weights}: wanted weights of the detector, got others") from error
    return network


def apply(data: Path, review: Path, out: Path) -> None:
    """Copy `data` to `out`, and complete the training labels with the verdicts in `review`."""
    shutil.copytree(data, out, ignore=shutil.ignore_patterns("*.cache"))
    sides = [field.name for field in fields(Suggestion)][1:5]
    with review.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            path = out / "images" / "train" / row["file"]
            box = [float(row[side]) for side in sides]
            if row["verdict"] == "plate":
                height, width = read_picture(path).shape[:2]
                append_label(label_file(path), box, (width, height))
            elif row["verdict"] == "unsure":
                smooth(path, box)


def smooth(path: Path, xyxy: Sequence[float]) -> None:
    """Blur one box of a picture file beyond recognition."""
    picture = read_picture(path).numpy()
    height, width = picture.shape[:2]
    x0, y0 = max(0, int(xyxy[0])), max(0, int(xyxy[1]))
    x1, y1 = min(width, int(xyxy[2]) + 2), min(height, int(xyxy[3]) + 2)
    picture[y0:y1, x0:x1] = cv2.blur(picture, (61, 61))[y0:y1, x0:x1]
    cv2.imwrite(str(path), picture, [cv2.IMWRITE_JPEG_QUALITY, 97])


def main(arguments: Sequence[str] | None = None) -> None:
    """Suggest labels, or apply the verdicts on them."""
    parser = argparse.ArgumentParser(description="Find plates without a label.")
    parser.add_argument("--data", type=Path, required=True, help="folder with images/ and labels/")
    parser.add_argument("--out", type=Path, required=True, help="review or completed data set")
    task = parser.add_mutually_exclusive_group(required=True)
    task.add_argument("--weights", type=Path, help="suggest: plain detector weights")
    task.add_argument("--apply", type=Path, help="complete: review.csv with verdicts")
    options = parser.parse_args(arguments)
    try:
        if options.apply:
            apply(options.data, options.apply, options.out)
        else:
            suggest(options.data, options.weights, options.out)
    except PlateError as error:
        sys.exit(f"labels: {error}")
    except OSError as error:
        sys.exit(f"labels: {error.filename}: {error.strerror}")


if __name__ == "__main__":
    main()
