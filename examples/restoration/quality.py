"""Measures sharpening: likeness to the sharp picture, and plates that the service reads."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from skimage.metrics import peak_signal_noise_ratio, structural_similarity

from examples.restoration.pictures import Pair
from orchestrator.arrays import Infer
from orchestrator.formats.plate_formats import russian
from orchestrator.imaging.files import Bgr
from orchestrator.reading.crops import crop_plates
from orchestrator.reading.reader import Reader


class Quality(NamedTuple):
    """Means over pictures, and the number of plates read without a mistake."""

    psnr_db: float
    ssim: float
    read: int

    def __str__(self) -> str:
        return f"PSNR {self.psnr_db:.2f} dB, SSIM {self.ssim:.3f}, plates read {self.read}"


def measure_quality(pairs: Sequence[Pair], pictures: Sequence[Bgr], infer: Infer) -> Quality:
    """Compare pictures with the sharp pictures of the pairs, and read them."""
    twice = [(pair.sharp, picture) for pair, picture in zip(pairs, pictures, strict=True)]
    psnr = [peak_signal_noise_ratio(*two) for two in twice]
    ssim = [structural_similarity(*two, channel_axis=2) for two in twice]
    right = [
        read_plate(two[1], pair, infer) == pair.text for two, pair in zip(twice, pairs, strict=True)
    ]
    return Quality(float(np.mean(psnr)), float(np.mean(ssim)), sum(right))


def read_plate(picture: Bgr, pair: Pair, infer: Infer) -> str:
    """Read a plate with the service's own STN and LPRNet, at its known place."""
    crop = crop_plates(torch.from_numpy(picture.copy()), pair.xyxy[None])
    reader = Reader(infer, russian())
    straight, _ = reader.stn(crop)
    (reading,) = reader.decode(reader.lprnet(straight))
    return reading.candidates[0][0] if reading.candidates else ""
