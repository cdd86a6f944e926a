"""The sample pictures of the service's page: small JPEG files of rendered streets.

Example:
    python -m workshop.rendering.page_samples --out orchestrator/serving/gateway/http/page
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2

from workshop.rendering.scenery import Scene, scene

QUALITY = 60
"""JPEG quality: the plates stay easy to read, and each file has less than 60 kB."""


@dataclass(frozen=True)
class PageSample:
    """One sample picture of the page.

    Attributes:
        texts: Texts of its plates, with a `/` between two lines.
        size_wh: Its size, pixels.
        format_names: Formats of the plates; when empty, the first that fits each text.
    """

    texts: tuple[str, ...]
    size_wh: tuple[int, int]
    seed: int
    format_names: tuple[str, ...] = ()

    def draw(self) -> Scene:
        """Draw the street."""
        return scene(self.texts, self.size_wh, seed=self.seed, format_names=self.format_names)


PAGE_SAMPLES = {
    "sample-street.jpg": PageSample(("A123BC77", "K207MH178", "E555KX50"), (960, 640), 11),
    "sample-kinds.jpg": PageSample(
        ("M482/OT750", "EK34577", "T305YA161"),
        (960, 640),
        5,
        ("ru_car_square", "ru_taxi", "ru_car"),
    ),
    "sample-car.jpg": PageSample(("P604AY02",), (720, 480), 2),
}
"""The samples by the names of their files."""


def write_samples(folder: Path) -> None:
    """Draw the samples and write their files into a folder."""
    for name, sample in PAGE_SAMPLES.items():
        picture = sample.draw().picture
        file = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, QUALITY])[1]
        (folder / name).write_bytes(file.tobytes())


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the samples into the folder that `--out` names."""
    parser = argparse.ArgumentParser(prog="workshop.rendering.page_samples", description=__doc__)
    parser.add_argument("--out", metavar="FOLDER", type=Path, required=True)
    write_samples(parser.parse_args(arguments).out)


if __name__ == "__main__":
    main()
