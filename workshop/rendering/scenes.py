"""Data set of rendered pictures with one plate each, for `plates evaluate`.

All formats with a share are equally frequent, so that rare ones are measured, too.

Example:
    python -m workshop.rendering.scenes --formats my_country/formats.toml --count 300 --out scenes
    plates evaluate scenes --formats my_country/formats.toml
"""

from __future__ import annotations

import shutil
from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from orchestrator.detection.postprocessing import WIDEST_SQUARE
from orchestrator.errors import DataError
from orchestrator.imaging.files import Bgr
from workshop.rendering.camera import CAR_PLATE, compress, shrink
from workshop.rendering.commands import Command, at_least, share
from workshop.rendering.country import Country, country_of
from workshop.rendering.road.roads import SIZES_WH as ROAD_SIZES_WH
from workshop.rendering.road.roads import road
from workshop.rendering.scenery import Scene, scene
from workshop.rendering.texts import plain, random_text
from workshop.reporting.files import write_rows

SIZES_WH = ((640, 480), (800, 600), (1024, 768), (1280, 960))
"""Sizes of the streets with parked cars, pixels."""
WIDTHS_PX = (70, 260)
"""Smallest and greatest width of a plate of one line; a plate of two lines is twice as high."""
TURN_DEG, SHEAR = 3.0, 0.06
"""Standard deviations of the camera's roll and of the shear of a plate seen from the side."""
MARGIN = 0.15
"""Room round a plate in its region, in heights of the plate."""
COLUMNS = ("image", "text", "type", "x0", "y0", "x1", "y1", "format")


@dataclass(frozen=True)
class LabelledPicture:
    """A picture with one plate.

    Attributes:
        type: `std` for the country's first format, `other` for the rest.
        region: Box round the plate with some room, xyxy pixels.
    """

    picture: Bgr
    text: str
    type: str
    region: tuple[float, float, float, float]
    format: str


def draw_pictures(
    country: Country, count: int, seed: int, *, roads: float = 0.0
) -> Iterator[LabelledPicture]:
    """Draw pictures of all formats in turn; the same seed gives the same pictures.

    Args:
        country: Country of the plates.
        count: Number of pictures.
        seed: Seed of the generators; each picture has its own.
        roads: Share of road pictures, 0 to 1, seen from above gates and beside lanes; the others
            show parked cars.
    """
    names = country.drawn_formats
    for index, rng in enumerate(np.random.default_rng(seed).spawn(count)):
        name = names[index % len(names)]
        is_road = roads > 0 and rng.random() < roads
        draw = _draw_on_road if is_road else _draw_parked
        yield draw(rng, country, name, "std" if name == names[0] else "other")


def _draw_on_road(
    rng: np.random.Generator, country: Country, name: str, kind: str
) -> LabelledPicture:
    text, _ = random_text(rng, country.formats, name)
    size_wh = ROAD_SIZES_WH[int(rng.integers(len(ROAD_SIZES_WH)))]
    street = road([text], size_wh, seed=int(rng.integers(2**31)), country=country)
    region = _region(street.xyxy[0].astype(np.float64), size_wh)
    return LabelledPicture(street.picture, country.formats.shown(plain(text)), kind, region, name)


def _draw_parked(
    rng: np.random.Generator, country: Country, name: str, kind: str
) -> LabelledPicture:
    size_wh = SIZES_WH[int(rng.integers(len(SIZES_WH)))]
    text, _ = random_text(rng, country.formats, name)
    seed = int(rng.integers(2**31))
    street = scene([text], size_wh, seed=seed, country=country, format_names=[name])
    view, quad = _turn(rng, street)
    picture = photograph_badly(rng, view)
    xyxy = np.concatenate([quad.min(axis=0), quad.max(axis=0)])
    label = country.formats.shown(plain(text))
    return LabelledPicture(picture, label, kind, _region(xyxy, picture.shape[1::-1]), name)


def photograph_badly(rng: np.random.Generator, picture: Bgr) -> Bgr:
    """Expose, blur, add noise and compress, as a poor camera does."""
    light = picture.astype(np.float32) * rng.uniform(0.3, 1.15) + rng.uniform(0, 30)
    light = cv2.GaussianBlur(light, (0, 0), rng.uniform(0.3, 1.3)).astype(np.float32)
    light += rng.normal(0, rng.uniform(0.5, 10), light.shape).astype(np.float32)
    return compress(light.clip(0, 255).astype(np.uint8), int(rng.integers(35, 96)))


def _turn(rng: np.random.Generator, street: Scene) -> tuple[Bgr, NDArray[np.float64]]:
    """Show a scene from another viewpoint: turned, sheared, and mostly from further away.

    Returns:
        (H, W, 3) uint8 BGR and the corners of its plate, (4, 2) pixels.
    """
    quad = street.quads[0].astype(np.float64)
    height_px = np.linalg.norm(quad[3] - quad[0]) / (2 if _is_square(quad) else 1)
    wanted_px = np.exp(rng.uniform(*np.log(WIDTHS_PX))) / CAR_PLATE
    factor = min(1.0, wanted_px / height_px)
    size_wh = [round(side * factor) for side in street.picture.shape[1::-1]]
    angle, shear = np.deg2rad(rng.normal(0, TURN_DEG)), rng.normal(0, SHEAR, 2)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    turn = turn @ np.array([[1.0, shear[0]], [shear[1], 1.0]])
    middle = quad.mean(axis=0) * factor
    matrix = np.column_stack([turn, middle - turn @ middle])
    small = shrink(street.picture, factor) if factor < 1 else street.picture
    view = cv2.warpAffine(small, matrix, size_wh, borderMode=cv2.BORDER_REFLECT).astype(np.uint8)
    return view, quad * factor @ turn.T + matrix[:, 2]


def _is_square(quad: NDArray[np.float64]) -> bool:
    """Tell from a plate's shape whether it has two lines."""
    width, height = np.linalg.norm(quad[1] - quad[0]), np.linalg.norm(quad[3] - quad[0])
    return bool(width < WIDEST_SQUARE * height)


def _region(xyxy: NDArray[np.float64], size_wh: Sequence[int]) -> tuple[float, float, float, float]:
    """Return a plate's box with some room, within the picture."""
    x0, y0, x1, y1 = xyxy.tolist()
    room, (wide, high) = MARGIN * (y1 - y0), size_wh
    return max(0, x0 - room), max(0, y0 - room), min(wide, x1 + room), min(high, y1 + room)


def write_pictures(folder: Path, pictures: Iterable[LabelledPicture]) -> None:
    """Write `images/` and `labels.csv` into a new or empty folder; on failure, write nothing.

    Raises:
        DataError: The folder is not empty; two data sets in one folder would be mixed.
        SettingsError: The renderer does not draw a plate.
    """
    check_new(folder)
    images, labels = folder / "images", folder / "labels.csv"
    images.mkdir(parents=True)
    try:
        write_rows(COLUMNS, _write_images(images, pictures), labels)
    except BaseException:  # an interrupted set must not look complete
        shutil.rmtree(images)
        labels.unlink(missing_ok=True)
        raise


def check_new(folder: Path) -> None:
    """Raise if the folder is not empty, or is a file."""
    if folder.exists() and not folder.is_dir():
        raise DataError(f"{folder}: wanted a new or an empty folder, got a file")
    files = sorted(file.name for file in folder.iterdir()) if folder.is_dir() else []
    if files:
        raise DataError(f"{folder}: wanted a new or an empty folder, got one with {files[0]}")


def _write_images(images: Path, pictures: Iterable[LabelledPicture]) -> Iterator[dict[str, object]]:
    """Write the pictures into a folder; yield the row of each."""
    for index, labelled_picture in enumerate(pictures):
        name = f"{index:04d}.jpg"
        cv2.imwrite(str(images / name), labelled_picture.picture, [cv2.IMWRITE_JPEG_QUALITY, 95])
        region = (f"{side:.1f}" for side in labelled_picture.region)
        text = (name, labelled_picture.text, labelled_picture.type)
        yield dict(zip(COLUMNS, (*text, *region, labelled_picture.format), strict=True))


def _act(options: Namespace) -> None:
    country = country_of(options.formats)
    pictures = draw_pictures(country, options.count, options.seed, roads=options.roads)
    write_pictures(options.out, pictures)


def main(arguments: Sequence[str] | None = None) -> None:
    """Write a data set."""
    command = Command("rendering.scenes", "Rendered pictures of single plates.", seed=1)
    command.add_argument("--out", type=Path, required=True, help="folder to write, new or empty")
    command.add_argument("--count", type=at_least(1), default=300)
    command.add_argument(
        "--roads", type=share, default=0.0, help="share of roads; the others are parked cars"
    )
    command.run(_act, arguments)


if __name__ == "__main__":
    main()
