"""Training samples for the reader: pools of rendered plates and of cuts from real ones.

Making a sample costs a good part of what training on it costs, so samples are kept in a pool, used
about six times each and replaced by new ones bit by bit.
"""

import csv
import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from orchestrator.errors import SettingsError
from orchestrator.formats import Formats
from orchestrator.picture_files import Bgr
from rendering.camera import compress, photograph, shrink
from rendering.synth import Crop, Sample, cut, jitter_box

log = logging.getLogger(__name__)

Source = Callable[[np.random.Generator], Sample]
UNKNOWN_CORNERS = np.full((4, 2), np.nan, np.float32)


@dataclass(frozen=True)
class RealCrop:
    """A plate cut from a photo with margins: 5 % of its width, 20 % of its height a side."""

    name: str
    picture: Bgr
    text: str


def read_texts(path: Path, votes: int, formats: Formats) -> dict[str, str]:
    """Read labels of crops that have a plate format.

    Args:
        path: CSV with the columns `crop` and `text`, or `crop`, `draft_text` and `votes_of_9`.
        votes: Least number of votes for a draft to count, where there is the column.
        formats: What the plates may say.

    Returns:
        Text by file name.

    Raises:
        SettingsError: The file cannot be read as such a table.
    """
    try:
        with path.open(newline="", encoding="utf-8-sig") as lines:
            rows = list(csv.DictReader(lines))
        texts = {row["crop"]: row.get("text") or row.get("draft_text") or "" for row in rows
                 if int(row.get("votes_of_9") or 9) >= votes}  # fmt: skip
    except (OSError, KeyError, ValueError) as error:
        raise SettingsError(f"{path}: wanted a CSV of crop,text, got: {error}") from error
    known = {crop: text for crop, text in texts.items() if formats.format_of(text)}
    if len(known) < len(texts):
        log.info("left out %d texts of no plate format", len(texts) - len(known))
    return known


def read_crops(folder: Path, labels: dict[str, str]) -> list[RealCrop]:
    """Read the labelled crops of a folder, in the order of their names.

    Raises:
        SettingsError: There is no crop, or one cannot be read.
    """
    if not labels:
        raise SettingsError(f"{folder}: wanted labelled crops, got no label of a plate format")
    crops = []
    for name, text in sorted(labels.items()):
        picture = cv2.imread(str(folder / name))
        if picture is None:
            raise SettingsError(f"{folder / name}: wanted a picture, got none")
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
    if rng.random() < 0.25:
        picture = photograph(rng, picture)
    elif rng.random() < 0.4:
        picture = compress(picture, int(rng.integers(30, 96)))
    return cut(picture, box)


def _turn(rng: np.random.Generator, picture: Bgr) -> tuple[Bgr, NDArray[np.float64]]:
    """Turn and shear a crop within a wider border; returns it with a detector's box of the plate.

    The border continues the outermost pixels, for boxes looser than the crop is.
    """
    height, width = picture.shape[:2]
    pad_wh = np.array([0.2 * width, 0.5 * height]).round()
    low, high = (inner_box(picture).reshape(2, 2) + pad_wh).tolist()
    box = jitter_box(rng, np.array([low, [high[0], low[1]], high, [low[0], high[1]]]))
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


def inner_box(picture: Bgr) -> NDArray[np.float64]:
    """Box of the plate in a crop that has margins, (4,) x0 y0 x1 y1."""
    size = np.array(picture.shape[1::-1], np.float64)
    margin = size * np.array([0.05 / 1.1, 0.2 / 1.4])
    return np.concatenate([margin, size - margin])


def cut_source(crops: Sequence[RealCrop]) -> Source:
    """Cuts of evenly drawn real crops."""

    def draw(rng: np.random.Generator) -> Sample:
        crop = crops[int(rng.integers(len(crops)))]
        return Sample(cut_real(rng, crop), crop.text, UNKNOWN_CORNERS)

    return draw


class Pool:
    """Samples to draw from, the oldest replaced by fresh ones with every draw.

    Sample n comes from the seed and n alone, and so does draw n: a pool that begins at a later step
    holds and gives what it would hold and give by then, so a resumed run is the very same.
    """

    def __init__(self, source: Source, size: int, count: int, *, seed: int, step: int = 0) -> None:
        """Fill the pool.

        Args:
            source: Makes a sample.
            size: Samples held.
            count: Samples a draw; one may come twice.
            seed: Of the samples and of the choice.
            step: Draws that have been made before.
        """
        self._source, self._seed, self._step, self._count = source, seed, step, count
        self._fresh = -(-count // 6)
        self._made = step * self._fresh
        self._samples = deque((self._next() for _ in range(size)), maxlen=size)

    def draw(self) -> list[Sample]:
        """Draw one step's samples, then replace the oldest in the pool."""
        rng = np.random.default_rng([self._seed, 1, self._step])
        chosen = [self._samples[i] for i in rng.integers(len(self._samples), size=self._count)]
        for _ in range(self._fresh):
            self._samples.append(self._next())  # pushes the oldest out
        self._step += 1
        return chosen

    def _next(self) -> Sample:
        sample = self._source(np.random.default_rng([self._seed, 0, self._made]))
        self._made += 1
        return sample


def to_input(crops: NDArray[np.uint8]) -> Tensor:
    """Turn (N, 24, 94, 3) uint8 BGR into the networks' input, (N, 3, 24, 94) float32 RGB."""
    rgb = torch.from_numpy(np.ascontiguousarray(crops[..., ::-1])).permute(0, 3, 1, 2)
    return rgb.float().sub_(127.5).div_(128)


def to_targets(texts: Sequence[str], alphabet: str) -> tuple[Tensor, Tensor]:
    """Turn texts into CTC targets: all classes in one row, (sum of lengths,), and the lengths."""
    classes = [alphabet.index(char) for text in texts for char in text]
    return torch.tensor(classes), torch.tensor([len(text) for text in texts])


def vary(crops: Tensor) -> Tensor:
    """Change brightness, contrast and noise of each crop a little, so that no two draws agree."""
    one = crops[:, :1, :1, :1]
    gain, offset = 1 + 0.15 * torch.randn_like(one), 0.1 * torch.randn_like(one)
    noise = 0.03 * torch.rand_like(one) * torch.randn_like(crops)
    return (crops * gain + offset + noise).clamp(-1, 1)
