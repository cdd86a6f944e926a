"""Rendered streets as both kinds of data sets: plates to read, and boxes to find."""

from collections.abc import Sequence
from pathlib import Path

import cv2

from workshop.evaluation.datasets import write_labels
from workshop.rendering.scenery import scene

SIZE_WH = (960, 720)


def write_streets(
    folder: Path, *streets: Sequence[str], size_wh: tuple[int, int] = SIZE_WH
) -> Path:
    """Draw a street for each group of texts; label it in `labels.csv` and in YOLO format."""
    rows = ["image,text,type,x0,y0,x1,y1"]
    for index, texts in enumerate(streets):
        drawn = scene(texts, size_wh, seed=index)
        for images in ("images", "images/val"):
            (folder / images).mkdir(parents=True, exist_ok=True)
            cv2.imwrite(str(folder / images / f"{index}.png"), drawn.picture)
        boxes = drawn.xyxy.tolist()
        for text, (x0, y0, x1, y1) in zip(texts, boxes, strict=True):
            rows.append(f"{index}.png,{text},std,{x0 - 9},{y0 - 9},{x1 + 9},{y1 + 9}")
        (folder / "labels/val").mkdir(parents=True, exist_ok=True)
        write_labels(folder / f"labels/val/{index}.txt", boxes, size_wh)
    (folder / "labels.csv").write_text("\n".join(rows) + "\n")
    return folder
