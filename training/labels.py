"""Plates that a data set leaves unlabelled: let a detector suggest them, then judge each by eye.

Plates without a label teach a detector not to find plates. A first detector finds most of them
all the same; this lists what it finds beside the labels, on contact sheets and in a table with an
empty `verdict` column. With the column filled in, `--apply` writes a completed copy:

* `plate`: a label is added,
* `unsure` (cut off, blurred, burnt out): the place is smoothed away, so it teaches neither way,
* anything else: nothing changes; it stays an example of what is no plate.

    python -m training.labels --data DATA --weights yolo.pt --out REVIEW
    python -m training.labels --data DATA --apply REVIEW/review.csv --out COMPLETED
"""

from __future__ import annotations

import argparse
import csv
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import cv2
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from orchestrator.boxes import area, nms
from orchestrator.images import letterbox, read_picture
from orchestrator.networks.yolo import Yolo

Picture = NDArray[np.uint8]
SIDES_PX = (640, 960)
SCORE = 0.3
OVERLAP = 0.4
"""Of the smaller box: more, and two boxes are taken for the same plate."""
COLUMNS = ("file", "x0", "y0", "x1", "y1", "score", "verdict")


def label_file(picture: Path) -> Path:
    """`.../labels/train/a.txt` of `.../images/train/a.jpg`."""
    root, split = picture.parents[2], picture.parent.name
    return root / "labels" / split / f"{picture.stem}.txt"


def labelled(picture: Path, size_wh: tuple[int, int]) -> Tensor:
    """Labelled boxes [N, 4] of a picture, pixels."""
    lines = label_file(picture).read_text(encoding="utf-8").split("\n")
    rows = [[float(value) for value in line.split()[1:]] for line in lines if line.strip()]
    centre_size = torch.tensor(rows).reshape(-1, 4)
    half = centre_size[:, 2:] / 2
    corners = torch.cat((centre_size[:, :2] - half, centre_size[:, :2] + half), 1)
    return corners * corners.new_tensor(size_wh * 2)


@torch.inference_mode()
def detect(network: nn.Module, picture: Tensor) -> Tensor:
    """Detections [N, 5] xyxy, score of one uint8 [H, W, 3] picture at several sizes."""
    found = []
    for side_px in SIDES_PX:
        boxed = letterbox(picture, side_px)
        rows = network(boxed.net)[0]
        rows = rows[rows[:, 4] >= SCORE]
        found.append(torch.cat((boxed.to_source(rows[:, :4]), rows[:, 4:5]), 1))
    rows = torch.cat(found)
    return rows[nms(rows[:, :4], rows[:, 4], OVERLAP)]


def apart(xyxy: Tensor, others: Tensor) -> Tensor:
    """Which boxes [N, 4] share no more than OVERLAP of the smaller area with any of [M, 4]."""
    top_left = torch.maximum(xyxy[:, None, :2], others[None, :, :2])
    bottom_right = torch.minimum(xyxy[:, None, 2:], others[None, :, 2:])
    shared = (bottom_right - top_left).clamp(min=0).prod(dim=2)
    smaller = torch.minimum(area(xyxy)[:, None], area(others)[None])
    result: Tensor = (shared <= OVERLAP * smaller).all(dim=1)
    return result


def suggestions(data: Path, network: nn.Module) -> Iterator[tuple[Path, list[float]]]:
    """Yield each detection x0 y0 x1 y1 score in the training pictures that has no label."""
    for path in sorted((data / "images" / "train").iterdir()):
        picture = read_picture(path)
        found = detect(network, picture)
        known = labelled(path, (picture.shape[1], picture.shape[0]))
        for row in found[apart(found[:, :4], known)].tolist():
            yield path, row


def tile(path: Path, box: Sequence[float], caption: str) -> Picture:
    """A 240 x 120 view of a detection and what is round it."""
    picture, margin = read_picture(path).numpy(), 400
    x0, y0, x1, y1 = (round(value) + margin for value in box[:4])
    wide = cv2.copyMakeBorder(picture, *(margin,) * 4, cv2.BORDER_CONSTANT)
    cv2.rectangle(wide, (x0 - 1, y0 - 1), (x1 + 1, y1 + 1), (0, 0, 255), 1)
    reach = min(margin, max(12, (x1 - x0) // 2) * 3)
    x, y = (x0 + x1) // 2, (y0 + y1) // 2
    view = wide[max(0, y - reach // 2) : y + reach // 2, max(0, x - reach) : x + reach]
    view = cv2.resize(view, (240, 120), interpolation=cv2.INTER_CUBIC)
    cv2.putText(view, caption, (3, 13), cv2.FONT_HERSHEY_SIMPLEX, 0.45, (0, 255, 255), 1)
    return np.asarray(view, np.uint8)


def suggest(data: Path, weights: Path, out: Path, *, rows: int = 10, columns: int = 6) -> None:
    """Write `review.csv` and numbered contact sheets to `out`."""
    network = Yolo().eval()
    network.load_state_dict(torch.load(weights, weights_only=True))
    out.mkdir(parents=True, exist_ok=True)
    tiles: list[Picture] = []
    with (out / "review.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(COLUMNS)
        for path, row in suggestions(data, network):
            tiles.append(tile(path, row, f"{len(tiles)} {row[4]:.2f}"))
            table.writerow([path.name, *(f"{value:.1f}" for value in row[:4]), f"{row[4]:.3f}", ""])
    tiles += [np.zeros((120, 240, 3), np.uint8)] * (-len(tiles) % columns)
    strips = [np.hstack(tiles[i : i + columns]) for i in range(0, len(tiles), columns)]
    for first in range(0, len(strips), rows):
        sheet = np.vstack(strips[first : first + rows])
        cv2.imwrite(str(out / f"sheet_{first // rows}.png"), sheet)


def apply(data: Path, review: Path, out: Path) -> None:
    """Copy `data` to `out` and complete its training labels by the verdicts in `review`."""
    shutil.copytree(data, out, ignore=shutil.ignore_patterns("*.cache"))
    with review.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            path = out / "images" / "train" / row["file"]
            box = [float(row[side]) for side in COLUMNS[1:5]]
            if row["verdict"] == "plate":
                add_label(path, box)
            elif row["verdict"] == "unsure":
                smooth(path, box)


def add_label(path: Path, xyxy: Sequence[float]) -> None:
    """Append one box in pixels to a picture's label file."""
    height, width = read_picture(path).shape[:2]
    x0, y0, x1, y1 = xyxy
    x, y, w, h = (
        (x0 + x1) / 2 / width,
        (y0 + y1) / 2 / height,
        (x1 - x0) / width,
        (y1 - y0) / height,
    )
    labels = label_file(path)
    known = labels.read_text(encoding="utf-8").rstrip("\n")
    line = f"0 {x:.6f} {y:.6f} {w:.6f} {h:.6f}\n"
    labels.write_text(f"{known}\n{line}" if known else line, encoding="utf-8")


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
    given = parser.parse_args(arguments)
    if given.apply:
        apply(given.data, given.apply, given.out)
    else:
        suggest(given.data, given.weights, given.out)


if __name__ == "__main__":
    main()
