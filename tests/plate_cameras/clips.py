"""Short clips for tests: a box drives across a street, encoded in memory."""

import io
import struct
import zlib
from collections.abc import Sequence
from fractions import Fraction
from functools import cache

import av
import cv2
import numpy as np

SIZE_WH = (320, 180)
RATE = 25


@cache
def street(count: int, *, box_from: int = 0, noise: float = 1.5) -> tuple[np.ndarray, ...]:
    """Return frames of a street in which a box moves 6 pixels a frame, from a given frame on."""
    rng = np.random.default_rng(7)
    coarse = rng.integers(60, 160, (23, 40, 3), dtype=np.uint8)
    empty = cv2.resize(coarse, SIZE_WH, interpolation=cv2.INTER_CUBIC)
    frames = []
    for index in range(count):
        frame = empty.copy()
        left = 6 * (index - box_from) - 60
        cv2.rectangle(frame, (left, 90), (left + 60, 130), (240, 240, 250), -1)
        frames.append((frame + rng.normal(0, noise, frame.shape)).clip(0, 255).astype(np.uint8))
    return tuple(frames)


def encode(
    frames: Sequence[np.ndarray],
    *,
    codec: str = "libx264",
    gop: int = RATE,
    form: str = "mp4",
    rotation: int = 0,
) -> bytes:
    """Return a clip of 25 frames a second; players rotate it counterclockwise by an angle."""
    file = io.BytesIO()
    with av.open(file, "w", format=form) as container:
        stream = container.add_stream(codec, rate=RATE)
        stream.height, stream.width = frames[0].shape[:2]
        stream.pix_fmt = "yuvj420p" if codec == "mjpeg" else "yuv420p"
        stream.set_display_rotation(rotation)
        context = stream.codec_context
        context.thread_count, context.gop_size = 1, gop
        context.options = {"preset": "ultrafast", "tune": "zerolatency", "sc_threshold": "0"}
        context.time_base = Fraction(1, RATE)
        for index, frame in enumerate(frames):
            video_frame = av.VideoFrame.from_ndarray(frame, format="bgr24")
            video_frame.pts, video_frame.time_base = index, Fraction(1, RATE)
            container.mux(stream.encode(video_frame))
        container.mux(stream.encode(None))
    return file.getvalue()


def announce_png(width: int, height: int) -> bytes:
    """Return a small PNG file whose header gives a larger size."""
    png = cv2.imencode(".png", np.zeros((16, 16), np.uint8))[1].tobytes()
    head = b"IHDR" + struct.pack(">II", width, height) + png[24:29]
    return png[:12] + head + struct.pack(">I", zlib.crc32(head)) + png[33:]


def announce_jpeg(width: int, height: int) -> bytes:
    """Return a small JPEG file whose header gives a larger size."""
    return claim_size(
        cv2.imencode(".jpg", np.zeros((16, 16), np.uint8))[1].tobytes(), width, height
    )


def claim_size(jpeg: bytes, width: int, height: int) -> bytes:
    """Return a JPEG file whose header gives another size."""
    at = jpeg.index(b"\xff\xc0") + 5
    return jpeg[:at] + struct.pack(">HH", height, width) + jpeg[at + 4 :]
