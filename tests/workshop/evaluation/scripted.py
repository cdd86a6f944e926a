"""Made-up networks, scenes, answers and outcomes for tests of evaluation."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch
from torch import Tensor

from orchestrator.plates import Plate
from tests.scripted_networks import IDENTITY, logits_of, rows
from workshop.evaluation.conditions.camera_conditions import EVERY_CONDITION, Condition
from workshop.evaluation.datasets import LabelledPlate, write_labels
from workshop.evaluation.detection import DetectedPicture
from workshop.evaluation.outcomes import MISSED, NOT_SHOWN, READ, WRONG, Outcome
from workshop.rendering.scenery import scene

READS = "A123BC77"
"""The text that the scripted networks read, with a score of 0.98."""
SIZE_WH = (128, 96)
MIDDLE = (34.0, 38.0, 94.0, 58.0)


def infer(model: str, tensors: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    (tensor,) = tensors.values()
    if model == "yolo":
        high, wide = tensor.shape[1:3]
        return {"output__0": rows((0.26 * wide, 0.4 * high, 0.74 * wide, 0.6 * high, 0.9))}
    if model == "stn":
        return {"output__0": tensor, "output__1": IDENTITY.expand(len(tensor), 2, 3)}
    return {"output__0": torch.stack([logits_of(READS, 10.0)] * len(tensor))}


@contextmanager
def scripted_networks() -> Iterator[None]:
    """Let evaluations load the scripted networks, whatever weights and engine they name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("workshop.evaluation.recognizers.load_networks", lambda *_, **__: infer)
        yield


def write_scenes(folder: Path, *texts: str) -> Path:
    """Write a grey picture with a plate in its middle for each text, in both kinds of data sets."""
    lines = ["image,text,type,x0,y0,x1,y1"]
    for part in ("images/val", "labels/val"):
        (folder / part).mkdir(parents=True)
    for index, text in enumerate(texts):
        grey = np.full((*SIZE_WH[::-1], 3), 90, np.uint8)
        for images in ("images", "images/val"):
            cv2.imwrite(str(folder / images / f"{index}.png"), grey)
        write_labels(folder / f"labels/val/{index}.txt", [MIDDLE], SIZE_WH)
        lines.append(f"{index}.png,{text},std,{','.join(map(str, MIDDLE))}")
    (folder / "labels.csv").write_text("\n".join(lines) + "\n")
    return folder


LEFT, RIGHT = (0.0, 0.0, 100.0, 20.0), (200.0, 0.0, 300.0, 20.0)
NEAR_LEFT = (0.0, 0.0, 80.0, 20.0)  # IoU 0.8 with LEFT
HALF_LEFT = (0.0, 0.0, 50.0, 20.0)  # IoU 0.5
FAR = (500.0, 0.0, 600.0, 20.0)


def picture(*detections, labels=(LEFT, RIGHT), ignored=()) -> DetectedPicture:
    boxes, scores = zip(*detections, strict=True) if detections else ((), ())
    return DetectedPicture("a.jpg", boxes, scores, labels, ignored)


TEXT = "A001AA77"
LABEL = LabelledPlate(TEXT, "std", (0.0, 0.0, 60.0, 30.0))


def outcome(verdict: str, score: float = 0.9, width_px: float = 100.0) -> Outcome:
    """Return a plate with this outcome."""
    if verdict == MISSED:
        return Outcome(Path("a.jpg"), LABEL)
    read_text = "X001AA77" if verdict == WRONG else TEXT
    shown_text = "" if verdict == NOT_SHOWN else read_text
    box = (0.0, 0.0, width_px, 20.0)
    plate = Plate(box, 0.9, shown_text, score, read_text, candidates=((read_text, score),))
    return Outcome(Path("a.jpg"), LABEL, plate)


def make_outcomes(
    exceptions: Mapping[Condition, list[Outcome]], plates: int = 2
) -> dict[Condition, list[Outcome]]:
    """So many plates, read under each condition but those named."""
    outcomes = [outcome(READ)] * plates
    return {condition: exceptions.get(condition, outcomes) for condition in EVERY_CONDITION}


STREET_WH = (960, 720)


def write_streets(
    folder: Path, *streets: Sequence[str], size_wh: tuple[int, int] = STREET_WH
) -> Path:
    """Draw a street for each group of texts; label it in `labels.csv` and in YOLO format."""
    rows = ["image,text,type,x0,y0,x1,y1"]
    for index, texts in enumerate(streets):
        street = scene(texts, size_wh, seed=index)
        for images in ("images", "images/val"):
            (folder / images).mkdir(parents=True, exist_ok=True)
            cv2.imwrite(str(folder / images / f"{index}.png"), street.picture)
        boxes = street.xyxy.tolist()
        for text, (x0, y0, x1, y1) in zip(texts, boxes, strict=True):
            rows.append(f"{index}.png,{text},std,{x0 - 9},{y0 - 9},{x1 + 9},{y1 + 9}")
        (folder / "labels/val").mkdir(parents=True, exist_ok=True)
        write_labels(folder / f"labels/val/{index}.txt", boxes, size_wh)
    (folder / "labels.csv").write_text("\n".join(rows) + "\n")
    return folder
