"""The health check picture of a country: one plate that is easy to read.

Example:
    python -m workshop.rendering.canary --formats my_country/formats.toml --out weights
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np

from orchestrator.contract import FORMATS_FILE
from orchestrator.errors import WeightsError
from orchestrator.formats.plate_formats import Formats
from orchestrator.host.canary import CanaryPicture, save_canary
from orchestrator.networks.weights import check_alphabet
from workshop.rendering.commands import Command
from workshop.rendering.country import Country, country_of
from workshop.rendering.scenery import scene
from workshop.rendering.texts import plain, random_text

SIZE_WH = (640, 480)
STREET_WH = (960, 720)
"""Size of the street that the picture is cut from: its plate is about 200 pixels wide."""
BLUR_PX = 3.0
"""Blur of everything but the plate: a picture without details is a small file."""
QUALITY = 65


def draw_canary(country: Country, seed: int = 0) -> tuple[bytes, str]:
    """Draw a car with a straight, clean plate of the first format that is drawn.

    Returns:
        A JPEG file of 640 x 480 pixels and less than 20 kB, and the text of its plate.
    """
    rng = np.random.default_rng(seed)
    text, _ = random_text(rng, country.formats, country.drawn_formats[0])
    street_scene = scene([text], STREET_WH, seed=seed, country=country)
    box = street_scene.xyxy[0].reshape(2, 2)
    left, top = (
        round(min(max(0, middle - side / 2), street - side))
        for middle, side, street in zip(box.mean(axis=0), SIZE_WH, STREET_WH, strict=True)
    )
    picture = street_scene.picture[top : top + SIZE_WH[1], left : left + SIZE_WH[0]]
    room = 0.5 * (box[1, 1] - box[0, 1])
    (x0, y0), (x1, y1) = (box - [left, top] + [[-room], [room]]).round().astype(int).tolist()
    soft = cv2.GaussianBlur(picture, (0, 0), BLUR_PX)
    soft[y0:y1, x0:x1] = picture[y0:y1, x0:x1]
    file = cv2.imencode(".jpg", soft, [cv2.IMWRITE_JPEG_QUALITY, QUALITY])[1].tobytes()
    return file, country.formats.shown(plain(text))


def put_canary(folder: Path, country: Country, seed: int = 0) -> None:
    """Write the picture and its text into a folder of weights.

    Raises:
        WeightsError: There is no such folder, or its weights read another alphabet.
    """
    _check_folder(folder, country.formats)
    picture, text = draw_canary(country, seed)
    save_canary(folder, CanaryPicture(picture, text))


def _check_folder(folder: Path, formats: Formats) -> None:
    """Raise if the folder's weights cannot read the picture; one without formats may be new."""
    if not folder.is_dir():
        raise WeightsError(f"weights: no such folder: {folder}")
    if (folder / FORMATS_FILE).is_file():
        check_alphabet(folder, formats)


def _act(options: Namespace) -> None:
    put_canary(options.out, country_of(options.formats), options.seed)


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the picture and its text into a folder of weights."""
    command = Command("rendering.canary", "The picture of the health check.")
    command.add_argument("--out", type=Path, required=True, help="folder of the weights")
    command.run(_act, arguments)


if __name__ == "__main__":
    main()
