"""The good requests of a soak run: the pictures, and the ways to send them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from orchestrator.contract import CROP, PLATE_READER
from orchestrator.imaging.decoding import decode
from orchestrator.imaging.files import Bgr
from workshop.benchmarks.load.requests import (
    HttpRequest,
    Request,
    file,
    kserve_grpc,
    kserve_http,
    kserve_json,
    pixels,
    rest,
    rest_form,
)
from workshop.benchmarks.pictures import Picture, read, render
from workshop.benchmarks.soak.callers import CheckedRequest
from workshop.rendering.scenery import scene


@dataclass(frozen=True)
class Drawn:
    """How a street is rendered. It is drawn small and enlarged, because drawing takes seconds."""

    plates: int
    size_wh: tuple[int, int]
    file: str
    zoom: int = 1


STREET = Path(__file__).resolve().parents[3] / "tests" / "data" / "street.jpg"
DRAWN = {
    "0 plates, 1280x960 JPEG": Drawn(0, (640, 480), ".jpg", 2),
    "1 plate, 640x480 PNG": Drawn(1, (640, 480), ".png"),
    "1 plate, 2560x1920 JPEG": Drawn(1, (640, 480), ".jpg", 4),
    "4 plates, 1920x1080 WebP": Drawn(4, (960, 540), ".webp", 2),
    "8 plates, 1280x960 BMP": Drawn(8, (1280, 960), ".bmp"),
}
MAX_PIXELS = 1920 * 1080
"""The largest picture that is sent as raw pixels; larger pictures are sent only as files."""
TINY_WH = (160, 120)
"""The size of the picture that is sent as JSON, where each byte takes up to four characters."""
CROP_TEXT = "K042MP77"


@dataclass(frozen=True)
class SentPictures:
    """The pictures that are sent.

    Attributes:
        streets: Pictures for `plate_recognition`.
        tiny: One more picture for `plate_recognition`, a small one.
        crop: The picture of one plate, for `plate_reader`.
    """

    streets: Sequence[Picture]
    tiny: Picture
    crop: Picture


def draw() -> SentPictures:
    """Return the street picture of the tests, and rendered pictures in all four file formats."""
    streets = (*read([STREET]), *(_draw(name, how) for name, how in DRAWN.items()))
    whole = scene([CROP_TEXT], (960, 720))
    x0, y0, x1, y1 = whole.xyxy[0].round().astype(int)
    crop = _encode("a plate", whole.picture[y0:y1, x0:x1], ".png")
    return SentPictures(streets, _encode("160x120", _resize(streets[0].bgr, TINY_WH), ".png"), crop)


def _draw(name: str, how: Drawn) -> Picture:
    street = render(how.plates, how.size_wh).bgr
    width, height = (how.zoom * side for side in how.size_wh)
    return _encode(name, _resize(street, (width, height)), how.file)


def _resize(bgr: Bgr, size_wh: tuple[int, int]) -> Bgr:
    return np.asarray(cv2.resize(bgr, size_wh, interpolation=cv2.INTER_AREA), np.uint8)


def _encode(name: str, bgr: Bgr, kind: str) -> Picture:
    """Encode a picture as a file; its pixels are decoded from that file."""
    encoded = cv2.imencode(kind, bgr)[1].tobytes()
    return Picture(name, encoded, decode(encoded).numpy())


def list_alone(pictures: SentPictures) -> dict[str, HttpRequest]:
    """Return a request for each single picture, by the picture's name."""
    alone = {picture.name: rest(picture.encoded) for picture in (*pictures.streets, pictures.tiny)}
    return alone | {pictures.crop.name: rest(pictures.crop.encoded, "/v1/read")}


def list_good(
    pictures: SentPictures, texts: Mapping[str, tuple[str, ...]]
) -> Iterator[CheckedRequest]:
    """Yield all good requests with the answers that they must get, given those of each picture."""
    for number, picture in enumerate(pictures.streets):
        for way, request in _list_requests(picture).items():
            yield CheckedRequest(f"{picture.name} by {way}", request, texts[picture.name])
        other = pictures.streets[number - 1]
        form = rest_form(picture.encoded, other.encoded)
        both = texts[picture.name] + texts[other.name]
        yield CheckedRequest(f"{picture.name} and another by REST form", form, both)
    tiny, crop = pictures.tiny, pictures.crop
    json = kserve_json(tiny.bgr)
    yield CheckedRequest(f"{tiny.name} by KServe JSON", json, texts[tiny.name])
    inputs = [pixels(crop.bgr, CROP)]
    ways: dict[str, Request] = {
        "REST": rest(crop.encoded, "/v1/read"),
        "KServe HTTP": kserve_http(inputs, model=PLATE_READER),
        "KServe gRPC": kserve_grpc(inputs, model=PLATE_READER),
    }
    for way, request in ways.items():
        yield CheckedRequest(f"{crop.name} by {way}", request, texts[crop.name])


def _list_requests(picture: Picture) -> dict[str, Request]:
    packed: dict[str, Request] = {
        "REST": rest(picture.encoded),
        "KServe HTTP, file": kserve_http([file(picture.encoded)]),
        "KServe gRPC, file": kserve_grpc([file(picture.encoded)]),
    }
    if picture.bgr.size > 3 * MAX_PIXELS:
        return packed
    return packed | {
        "KServe HTTP, pixels": kserve_http([pixels(picture.bgr)]),
        "KServe gRPC, pixels": kserve_grpc([pixels(picture.bgr)]),
    }
