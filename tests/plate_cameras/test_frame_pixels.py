"""Pixels of frames, compared with those that the service decodes."""

import struct

import cv2
import numpy as np
import pytest

from orchestrator.imaging.decoding import decode_bgr
from plate_cameras.frame_pixels import decode_frame

PICTURE = np.random.default_rng(1).integers(0, 256, (48, 64, 3), np.uint8)
ENTRY = struct.pack("<HHIHH", 0x112, 3, 1, 6, 0)
TIFF = b"II*\0" + struct.pack("<IH", 8, 1) + ENTRY + bytes(4)
"""EXIF data of a picture that is shown with a turn by 90 degrees."""


def segment(content: bytes) -> bytes:
    return b"\xff\xe1" + struct.pack(">H", len(content) + 2) + content


@pytest.mark.parametrize("flag", [cv2.IMREAD_COLOR, cv2.IMREAD_GRAYSCALE], ids=["color", "grey"])
@pytest.mark.parametrize(
    "segments",
    [
        pytest.param(b"", id="upright"),
        pytest.param(segment(b"Exif\0\0" + TIFF), id="turned"),
        pytest.param(
            segment(b"http://ns.adobe.com/xap/1.0/\0 ") + segment(b"Exif\0\0" + TIFF), id="other"
        ),
        pytest.param(segment(b"Exif\0\xff" + TIFF), id="nearly EXIF"),
    ],
)
def test_frames_are_upright_as_the_service_sees_them(segments: bytes, flag: int) -> None:
    jpeg = cv2.imencode(".jpg", PICTURE)[1].tobytes()
    file = jpeg[:2] + segments + jpeg[2:]
    pixels = decode_frame(file, flag)
    service_pixels = decode_bgr(file)
    assert pixels is not None
    assert pixels.shape[:2] == service_pixels.shape[:2]
    difference = pixels.reshape(*pixels.shape[:2], -1).mean(2) - service_pixels.mean(2)
    assert abs(difference).mean() < 20


def test_a_damaged_frame_has_no_pixels() -> None:
    assert decode_frame(b"no picture") is None
