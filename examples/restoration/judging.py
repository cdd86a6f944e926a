"""What sharpening is worth: nearness to the sharp picture, and plates that the service reads."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from skimage.metrics import peak_signal_noise_ratio, structural_similarity

from examples.restoration.pictures import Pair
from orchestrator.ctc import decode
from orchestrator.formats import russian
from orchestrator.grammar import Grammar
from orchestrator.images import crop_plates
from orchestrator.picture_files import Bgr
from orchestrator.pipeline import Infer, read, straighten

Restore = Callable[[Bgr], Bgr]


class Judgement(NamedTuple):
    """Means over pictures, and how many of them were read without a mistake."""

    psnr_db: float
    ssim: float
    read: int
    of: int

    def __str__(self) -> str:
        return f"{self.psnr_db:5.2f} dB   {self.ssim:.3f}   {self.read} of {self.of}"


def judge(pairs: Sequence[Pair], restore: Restore, infer: Infer) -> Judgement:
    """Restore every blurred picture, compare it with the sharp one and read it."""
    restored = [restore(pair.blurred) for pair in pairs]
    twice = [(pair.sharp, picture) for pair, picture in zip(pairs, restored, strict=True)]
    psnr = [peak_signal_noise_ratio(*two) for two in twice]
    ssim = [structural_similarity(*two, channel_axis=2) for two in twice]
    texts = read_plates(restored, pairs, infer)
    right = sum(text == pair.text for text, pair in zip(texts, pairs, strict=True))
    return Judgement(float(np.mean(psnr)), float(np.mean(ssim)), right, len(pairs))


def read_plates(pictures: Sequence[Bgr], pairs: Sequence[Pair], infer: Infer) -> list[str]:
    """Read the plates by the service's own STN and LPRNet; the boxes are the true ones."""
    boxes = [np.concatenate([pair.quad.min(axis=0), pair.quad.max(axis=0)]) for pair in pairs]
    crops = torch.cat(
        [
            crop_plates(torch.from_numpy(picture), torch.from_numpy(box).float()[None])
            for picture, box in zip(pictures, boxes, strict=True)
        ]
    )
    readings = decode(read(straighten(crops, infer)[0], infer), Grammar.of(russian()))
    return [one.candidates[0][0] if one.candidates else "" for one in readings]
