"""The bad requests of a soak run, and the errors that they must get."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import cv2
import numpy as np

from workshop.benchmarks.load.connections import DROPPED
from workshop.benchmarks.load.requests import (
    Request,
    Tensor,
    file,
    kserve_grpc,
    kserve_http,
    pixels,
    rest,
    rest_form,
)
from workshop.benchmarks.pictures import Picture
from workshop.benchmarks.soak.callers import CheckedRequest

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
    beam = rest(street.encoded, "/v1/recognize?beam=3")
    none = rest(street.encoded, "/v1/recognize?max_plates=0")
    return {
        "no picture": (rest(NO_PICTURE), "400", "wanted a JPEG, PNG, WebP or BMP file"),
        "half a file": (rest(_halve(street)), "400", "damaged"),
        "64 million pixels": (rest(_paint_large()), "400", "got 8000x8000 pixels"),
        "unknown parameter": (beam, "400", "wanted some of"),
        "parameter out of range": (none, "400", "max_plates: wanted"),
        "wrong type": (rest(street.encoded, Content_Type="text/plain"), "415", "wanted image/*"),
        "unknown path": (rest(street.encoded, "/v1/recognise"), "404", ""),
        "a body too large": (rest(b"", Content_Length=str(LONG_BYTES)), "413", "wanted at most"),
        "a form without pictures": (rest_form(), "400", ""),
    }


def _in_kserve_http(street: Picture) -> BadRequests:
    right = kserve_http([file(street.encoded)])
    both = kserve_http([pixels(street.bgr), file(street.encoded)])
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
    picture = [file(street.encoded)]
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
    inputs = {"a file": file(street.encoded), "pixels": pixels(street.bgr)}
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
