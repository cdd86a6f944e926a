"""Training samples for the reader: pools of rendered plates and of cuts from real ones.

Making a sample costs a good part of what training on it costs, so samples are kept in a pool, used
about four times each and replaced by new ones bit by bit.
"""

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from orchestrator.plates import ALPHABET, format_of
from orchestrator.training.camera import compress, photograph, shrink
from orchestrator.training.layouts import Picture
from orchestrator.training.synth import Crop, Sample, cut, jittered_box

Source = Callable[[np.random.Generator], Sample]
UNKNOWN_CORNERS = np.full((4, 2), np.nan, np.float32)


@dataclass(frozen=True)
class RealCrop:
    """A plate cut from a photo with margins: 5 % of its width, 20 % of its height a side."""

    name: str
    picture: Picture
    text: str


def read_labels(path: Path, votes: int) -> dict[str, str]:
    """Read labels of crops that have a plate format.

    Args:
        path: CSV with the columns `crop`, `draft_text` and `votes_of_9`.
        votes: Least number of votes for a draft to count.

    Returns:
        Text by file name.
    """
    with path.open(newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if int(row["votes_of_9"]) >= votes]
    return {row["crop"]: row["draft_text"] for row in rows if format_of(row["draft_text"])}


def read_crops(folder: Path, labels: dict[str, str]) -> list[RealCrop]:
    """Read the labelled crops of a folder, in the order of their names."""
    crops = []
    for name, text in sorted(labels.items()):
        picture = cv2.imread(str(folder / name))
        if picture is None:
            raise FileNotFoundError(f"{folder / name}: no picture")
        crops.append(RealCrop(name, picture.astype(np.uint8), text))
    return crops


def cut_real(rng: np.random.Generator, crop: RealCrop) -> Crop:
    """Cut a real plate out again, a little elsewhere, turned and in other light."""
    picture = crop.picture
    if rng.random() < 0.4 and picture.shape[1] > 110:  # as if from further away
        size_w = float(np.exp(rng.uniform(np.log(70), np.log(picture.shape[1]))))
        factor = size_w / picture.shape[1]
        picture = shrink(picture, factor)
    picture, box = _turn(rng, picture)
    if rng.random() < 0.35:
        picture = photograph(rng, picture)
    elif rng.random() < 0.4:
        picture = compress(picture, int(rng.integers(30, 96)))
    return cut(picture, box)


def _turn(rng: np.random.Generator, picture: Picture) -> tuple[Picture, NDArray[np.float64]]:
    """Turn and shear a crop within a wider border; returns it with a detector's box of the plate.

    The border continues the outermost pixels, for boxes looser than the crop is.
    """
    height, width = picture.shape[:2]
    pad_wh = np.array([0.2 * width, 0.5 * height]).round()
    low, high = (inner_box(picture).reshape(2, 2) + pad_wh).tolist()
    box = jittered_box(rng, np.array([low, [high[0], low[1]], high, [low[0], high[1]]]))
    size_wh = (width + 2 * int(pad_wh[0]), height + 2 * int(pad_wh[1]))
    middle = (width / 2, height / 2)
    turn = np.array(cv2.getRotationMatrix2D(middle, float(rng.normal(0, 2.5)), 1.0), np.float64)
    shear = float(rng.normal(0, 0.12))
    turn[0, 1] += shear
    turn[:, 2] += pad_wh - [shear * height / 2, 0]
    turned = cv2.warpAffine(
        picture, turn, size_wh, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE
    )
    return turned.astype(np.uint8), box


def inner_box(picture: Picture) -> NDArray[np.float64]:
    """Box of the plate in a crop that has margins, (4,) x0 y0 x1 y1."""
    size = np.array(picture.shape[1::-1], np.float64)
    margin = size * np.array([0.05 / 1.1, 0.2 / 1.4])
    return np.concatenate([margin, size - margin])


def real_source(crops: Sequence[RealCrop]) -> Source:
    """Cuts of evenly drawn real crops."""

    def draw(rng: np.random.Generator) -> Sample:
        crop = crops[int(rng.integers(len(crops)))]
        return Sample(cut_real(rng, crop), crop.text, UNKNOWN_CORNERS)

    return draw


class Pool:
    """Samples to draw from, replaced in turn by fresh ones."""

    def __init__(self, source: Source, size: int, seed: int) -> None:
        self._source = source
        self._rng = np.random.default_rng(seed)
        self._samples = [source(self._rng) for _ in range(size)]
        self._next = 0

    def refresh(self, count: int) -> None:
        """Replace the oldest samples."""
        for _ in range(count):
            self._samples[self._next] = self._source(self._rng)
            self._next = (self._next + 1) % len(self._samples)

    def draw(self, count: int) -> list[Sample]:
        """Draw `count` samples; one may come twice."""
        chosen = self._rng.integers(len(self._samples), size=count)
        return [self._samples[index] for index in chosen]


def to_input(crops: NDArray[np.uint8]) -> Tensor:
    """Turn (N, 24, 94, 3) uint8 BGR into the networks' input, (N, 3, 24, 94) float32 RGB."""
    rgb = torch.from_numpy(np.ascontiguousarray(crops[..., ::-1])).permute(0, 3, 1, 2)
    return rgb.float().sub_(127.5).div_(128)


def to_targets(texts: Sequence[str]) -> tuple[Tensor, Tensor]:
    """Turn texts into CTC targets: all classes in one row, (sum of lengths,), and the lengths."""
    classes = [ALPHABET.index(char) for text in texts for char in text]
    return torch.tensor(classes), torch.tensor([len(text) for text in texts])
