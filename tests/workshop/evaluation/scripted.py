"""Networks that read one text from the middle of every picture, and pictures for them."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch
from torch import Tensor

from tests.scripted_networks import IDENTITY, logits_of, rows
from workshop.evaluation.datasets import write_labels

READS = "A123BC77"
"""The text that the scripted networks read, with a score of 0.98."""
SIZE_WH = (128, 96)
MIDDLE = (34.0, 38.0, 94.0, 58.0)


def infer(model: str, tensors: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    (given,) = tensors.values()
    if model == "yolo":
        high, wide = given.shape[1:3]
        return {"output__0": rows((0.26 * wide, 0.4 * high, 0.74 * wide, 0.6 * high, 0.9))}
    if model == "stn":
        return {"output__0": given, "output__1": IDENTITY.expand(len(given), 2, 3)}
    return {"output__0": torch.stack([logits_of(READS, 10.0)] * len(given))}


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
