"""The decoding of JPEG files of all kinds on the device, beside OpenCV's: pixels and time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from io import BytesIO
from typing import Any

import cv2
import numpy as np
import torch
from PIL import Image
from torch.utils.dlpack import from_dlpack

from orchestrator.errors import ExtraError, PictureError
from orchestrator.imaging.decoding import decode_bgr
from orchestrator.imaging.files import Bgr
from orchestrator.imaging.gpu_decoding import JpegDecoder
from orchestrator.imaging.headers import check_file
from workshop.benchmarks.first_light.steps import Scope, StepResult
from workshop.benchmarks.pictures import render

ORIENTATION = 0x0112
"""The EXIF tag of the orientation."""
SIZE_WH = (641, 481)
"""Odd, so that the last pixels share their colour with none."""


def draw_files() -> Mapping[str, bytes]:
    """Return files by their kinds, each with the same street."""
    street = cv2.resize(render(4).bgr, SIZE_WH, interpolation=cv2.INTER_AREA)
    rgb = Image.fromarray(cv2.cvtColor(street, cv2.COLOR_BGR2RGB))
    return {kind: save(rgb) for kind, save in KINDS.items()}


def _save(picture: Image.Image, **options: Any) -> bytes:
    file = BytesIO()
    picture.save(file, "JPEG", quality=90, **options)
    return file.getvalue()


def _turn(picture: Image.Image, number: int) -> bytes:
    exif = Image.Exif()
    exif[ORIENTATION] = number
    return _save(picture, exif=exif)


def _cut(picture: Image.Image, end: bytes = b"") -> bytes:
    whole = _save(picture)
    return whole[: len(whole) // 2] + end


KINDS: Mapping[str, Callable[[Image.Image], bytes]] = {
    "baseline": _save,
    "every pixel in colour": partial(_save, subsampling=0),
    "half the columns in colour": partial(_save, subsampling=1),
    "progressive": partial(_save, progressive=True),
    "grey": lambda rgb: _save(rgb.convert("L")),
    "four components": lambda rgb: _save(rgb.convert("CMYK")),
    "RGB components": partial(_save, keep_rgb=True),
    "restart markers": partial(_save, restart_marker_blocks=4),
    "cut off": _cut,
    "cut off, with an end": partial(_cut, end=b"\xff\xd9"),
    "more bytes behind its end": lambda rgb: _save(rgb) + bytes(8),
    **{f"orientation {number}": partial(_turn, number=number) for number in range(1, 9)},
}
"""Writes a picture as a file of each kind."""


MAX_DISTANCE = 2.0
"""The largest mean difference of the pixels: a GPU interpolates colours in its own way."""
MAX_PIXELS = 10**7
SIZES_WH = ((1280, 960), (1920, 1080), (3840, 2160))
REJECTED, LEFT = "rejected", "left to OpenCV"


def compare_decoding(scope: Scope) -> StepResult:
    """Compare the pixels of all kinds of files, and the times of some sizes."""
    title, header = "Decoding by nvImageCodec", ("file", "OpenCV", "nvImageCodec", "apart")
    try:
        decoder = JpegDecoder(0 if scope.device == "gpu" else None)
    except ExtraError as error:
        return StepResult(title, header, (("all", "", str(error), ""),))
    rows, wrong = [], []
    for kind, file in draw_files().items():
        opencv_bgr, gpu_bgr = _decode(file), _read(_decode_there(decoder, file), scope)
        apart = _measure_distance(opencv_bgr, gpu_bgr)
        rows.append((kind, _describe(opencv_bgr, REJECTED), _describe(gpu_bgr, LEFT), apart))
        if gpu_bgr is not None and (opencv_bgr is None or not apart or float(apart) > MAX_DISTANCE):
            wrong.append(f"{kind}: wanted OpenCV's pixels within {MAX_DISTANCE:g}, got {apart}")
    figures = dict(_time_sizes(decoder, scope))
    rows += [(name, "", f"{ms:.2f}", "") for name, ms in figures.items()]
    return StepResult(title, header, tuple(rows), tuple(wrong), figures)


def _decode(file: bytes) -> Bgr | None:
    try:
        return decode_bgr(file)
    except PictureError:
        return None


def _decode_there(decoder: JpegDecoder, file: bytes) -> Any:
    return decoder.decode(file, check_file(file, MAX_PIXELS))


def _read(pixels: Any, scope: Scope) -> Bgr | None:
    """Return pixels on the CPU. Without a driver, nvImageCodec offers no DLPack."""
    if pixels is None:
        return None
    on_gpu = scope.device == "gpu"
    return np.asarray(from_dlpack(pixels).cpu() if on_gpu else pixels, np.uint8)


def _describe(bgr: Bgr | None, otherwise: str) -> str:
    return otherwise if bgr is None else f"{bgr.shape[1]}x{bgr.shape[0]}"


def _measure_distance(reference: Bgr | None, bgr: Bgr | None) -> str:
    """Return the mean difference of the pixels; empty if there are none to compare."""
    if reference is None or bgr is None or reference.shape != bgr.shape:
        return ""
    return f"{np.abs(reference.astype(np.int16) - bgr).mean():.2f}"


def _time_sizes(decoder: JpegDecoder, scope: Scope) -> Iterator[tuple[str, float]]:
    for size_wh in SIZES_WH if scope.is_whole else SIZES_WH[:1]:
        larger = cv2.resize(render(4).bgr, size_wh, interpolation=cv2.INTER_CUBIC)
        file = cv2.imencode(".jpg", larger)[1].tobytes()
        name = f"{size_wh[0]}x{size_wh[1]}"
        yield f"{name}, OpenCV, ms", _time(partial(decode_bgr, file), scope)
        yield (
            f"{name}, nvImageCodec, ms",
            _time(partial(_decode_there, decoder, file), scope),
        )


def _time(decode: Callable[[], object], scope: Scope) -> float:
    """Return the median milliseconds of later runs."""
    times = []
    for _ in range(2 + scope.runs):
        began = time.perf_counter()
        decode()
        if scope.device == "gpu":
            torch.cuda.synchronize()
        times.append(1e3 * (time.perf_counter() - began))
    return sorted(times[2:])[scope.runs // 2]
