"""The good and bad requests of a soak run: pictures, ways to send them, and the errors they get."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import cv2
import numpy as np

from orchestrator.contract import CROP, PLATE_READER
from orchestrator.imaging.decoding import decode
from orchestrator.imaging.files import Bgr
from workshop.benchmarks.load.connections import DROPPED
from workshop.benchmarks.load.requests import (
    HttpRequest,
    Request,
    Tensor,
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

SOON_S = 0.01
"""The time after which callers hang up; the call is in progress by then."""
NO_PICTURE = b"this is no picture"
MANY_WH = (8000, 8000)
LONG_BYTES = 81 * 2**20
"""The size of a body that is too large: the gateway accepts 80 MiB."""
INVALID, MISSING, LONG = "INVALID_ARGUMENT", "NOT_FOUND", "RESOURCE_EXHAUSTED"
BadRequests = dict[str, tuple[Request, str, str]]
"""By name: the request, the wanted status, and words that the error must contain."""


def list_bad(street: Picture) -> list[CheckedRequest]:
    """Return every kind of bad call, over each protocol."""
    groups = (_in_rest(street), _in_kserve_http(street), _in_kserve_grpc(street))
    bad = [
        CheckedRequest(name, request, status=status, words=words)
        for group in groups
        for name, (request, status, words) in group.items()
    ]
    return [*bad, *_list_dropped(street)]


def _in_rest(street: Picture) -> BadRequests:
    beam = rest(street.file_bytes, "/v1/recognize?beam=3")
    none = rest(street.file_bytes, "/v1/recognize?max_plates=0")
    return {
        "no picture": (rest(NO_PICTURE), "400", "wanted a JPEG, PNG, WebP or BMP file"),
        "half a file": (rest(_halve(street)), "400", "damaged"),
        "64 million pixels": (rest(_paint_large()), "400", "got 8000x8000 pixels"),
        "unknown parameter": (beam, "400", "wanted some of"),
        "parameter out of range": (none, "400", "max_plates: wanted"),
        "wrong type": (rest(street.file_bytes, Content_Type="text/plain"), "415", "wanted image/*"),
        "unknown path": (rest(street.file_bytes, "/v1/recognise"), "404", ""),
        "a body too large": (rest(b"", Content_Length=str(LONG_BYTES)), "413", "wanted at most"),
        "a form without pictures": (rest_form(), "400", ""),
    }


def _in_kserve_http(street: Picture) -> BadRequests:
    right = kserve_http([file(street.file_bytes)])
    both = kserve_http([pixels(street.bgr), file(street.file_bytes)])
    other = kserve_http([pixels(street.bgr)], model="yolo")
    packed = replace(right, headers={**right.headers, "Content-Encoding": "gzip"})
    return {
        "HTTP: no colours": (kserve_http([pixels(street.bgr[..., 0])]), "400", "input__0"),
        "HTTP: both inputs": (both, "400", "exactly one of"),
        "HTTP: another model": (other, "404", "wanted one of plate_recognition"),
        "HTTP: half a body": (replace(right, body=right.body[:1000]), "400", "wanted"),
        "HTTP: compressed": (packed, "415", ""),
    }


def _in_kserve_grpc(street: Picture) -> BadRequests:
    picture = [file(street.file_bytes)]
    long = kserve_grpc([file(bytes(LONG_BYTES))])
    return {
        "gRPC: no picture": (kserve_grpc([file(NO_PICTURE)]), INVALID, "wanted a JPEG"),
        "gRPC: no colours": (kserve_grpc([pixels(street.bgr[..., 0])]), INVALID, "input__0"),
        "gRPC: unknown parameter": (kserve_grpc(picture, {"beam": 3}), INVALID, "wanted some of"),
        "gRPC: another model": (kserve_grpc(picture, model="yolo"), MISSING, "wanted one of"),
        "gRPC: too large": (long, LONG, "larger than max"),
    }


def _list_dropped(street: Picture) -> list[CheckedRequest]:
    builds: dict[str, Callable[[list[Tensor]], Request]] = {
        "HTTP": kserve_http,
        "gRPC": kserve_grpc,
    }
    inputs = {"a file": file(street.file_bytes), "pixels": pixels(street.bgr)}
    return [
        CheckedRequest(
            f"hung up: {name} by {way}", build([tensor]), status=DROPPED, hang_up_s=SOON_S
        )
        for way, build in builds.items()
        for name, tensor in inputs.items()
    ]


def _halve(street: Picture) -> bytes:
    whole = cv2.imencode(".webp", street.bgr)[1].tobytes()
    return whole[: len(whole) // 2]


def _paint_large() -> bytes:
    """Return a small file with many pixels."""
    return cv2.imencode(".png", np.zeros(MANY_WH, np.uint8))[1].tobytes()


@dataclass(frozen=True)
class StreetRecipe:
    """How a street is rendered. It is drawn small and enlarged, because drawing takes seconds."""

    plates: int
    size_wh: tuple[int, int]
    file: str
    zoom: int = 1


STREET = Path(__file__).resolve().parents[3] / "tests" / "data" / "street.jpg"
STREETS = {
    "0 plates, 1280x960 JPEG": StreetRecipe(0, (640, 480), ".jpg", 2),
    "1 plate, 640x480 PNG": StreetRecipe(1, (640, 480), ".png"),
    "1 plate, 2560x1920 JPEG": StreetRecipe(1, (640, 480), ".jpg", 4),
    "4 plates, 1920x1080 WebP": StreetRecipe(4, (960, 540), ".webp", 2),
    "8 plates, 1280x960 BMP": StreetRecipe(8, (1280, 960), ".bmp"),
}
MAX_PIXELS = 1920 * 1080
"""The largest picture that is sent as raw pixels; larger pictures are sent only as files."""
TINY_WH = (160, 120)
"""The size of the picture that is sent as JSON, where each byte takes up to four characters."""
CROP_TEXT = "K042MP77"


@dataclass(frozen=True)
class SentPictures:
    """The pictures that are sent."""

    streets: Sequence[Picture]
    tiny: Picture
    crop: Picture


def draw() -> SentPictures:
    """Return the street picture of the tests, and rendered pictures in all four file formats."""
    streets = (*read([STREET]), *(_draw(name, recipe) for name, recipe in STREETS.items()))
    whole = scene([CROP_TEXT], (960, 720))
    x0, y0, x1, y1 = whole.xyxy[0].round().astype(int)
    crop = _encode("a plate", whole.picture[y0:y1, x0:x1], ".png")
    return SentPictures(streets, _encode("160x120", _resize(streets[0].bgr, TINY_WH), ".png"), crop)


def _draw(name: str, recipe: StreetRecipe) -> Picture:
    street = render(recipe.plates, recipe.size_wh).bgr
    width, height = (recipe.zoom * side for side in recipe.size_wh)
    return _encode(name, _resize(street, (width, height)), recipe.file)


def _resize(bgr: Bgr, size_wh: tuple[int, int]) -> Bgr:
    return np.asarray(cv2.resize(bgr, size_wh, interpolation=cv2.INTER_AREA), np.uint8)


def _encode(name: str, bgr: Bgr, kind: str) -> Picture:
    """Encode a picture as a file; its pixels are decoded from that file."""
    file_bytes = cv2.imencode(kind, bgr)[1].tobytes()
    return Picture(name, file_bytes, decode(file_bytes).numpy())


def list_alone(pictures: SentPictures) -> dict[str, HttpRequest]:
    """Return a request for each single picture, by the picture's name."""
    alone = {
        picture.name: rest(picture.file_bytes) for picture in (*pictures.streets, pictures.tiny)
    }
    return alone | {pictures.crop.name: rest(pictures.crop.file_bytes, "/v1/read")}


def list_good(
    pictures: SentPictures, texts: Mapping[str, tuple[str, ...]]
) -> Iterator[CheckedRequest]:
    """Yield all good requests with the answers that they must get, given those of each picture."""
    for number, picture in enumerate(pictures.streets):
        for way, request in _list_requests(picture).items():
            yield CheckedRequest(f"{picture.name} by {way}", request, texts[picture.name])
        other = pictures.streets[number - 1]
        form = rest_form(picture.file_bytes, other.file_bytes)
        both = texts[picture.name] + texts[other.name]
        yield CheckedRequest(f"{picture.name} and another by REST form", form, both)
    tiny, crop = pictures.tiny, pictures.crop
    json = kserve_json(tiny.bgr)
    yield CheckedRequest(f"{tiny.name} by KServe JSON", json, texts[tiny.name])
    inputs = [pixels(crop.bgr, CROP)]
    ways: dict[str, Request] = {
        "REST": rest(crop.file_bytes, "/v1/read"),
        "KServe HTTP": kserve_http(inputs, model=PLATE_READER),
        "KServe gRPC": kserve_grpc(inputs, model=PLATE_READER),
    }
    for way, request in ways.items():
        yield CheckedRequest(f"{crop.name} by {way}", request, texts[crop.name])


def _list_requests(picture: Picture) -> dict[str, Request]:
    requests: dict[str, Request] = {
        "REST": rest(picture.file_bytes),
        "KServe HTTP, file": kserve_http([file(picture.file_bytes)]),
        "KServe gRPC, file": kserve_grpc([file(picture.file_bytes)]),
    }
    if picture.bgr.size > 3 * MAX_PIXELS:
        return requests
    return requests | {
        "KServe HTTP, pixels": kserve_http([pixels(picture.bgr)]),
        "KServe gRPC, pixels": kserve_grpc([pixels(picture.bgr)]),
    }
