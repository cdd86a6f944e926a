"""Short clips in files, encoded by PyAV."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path

import av
import numpy as np

from orchestrator.imaging.files import Bgr

SIZE_WH = (320, 180)


def moving_frames(count: int, size_wh: tuple[int, int] = SIZE_WH) -> Iterable[Bgr]:
    """Yield frames with noise, in which a white block moves from left to right."""
    rng = np.random.default_rng(7)
    width, height = size_wh
    for number in range(count):
        frame = rng.integers(60, 90, (height, width, 3)).astype(np.uint8)
        x = number * (width - 40) // max(1, count - 1)
        frame[height // 2 : height // 2 + 20, x : x + 40] = 250
        yield frame


def write_clip(
    path: Path, frames: Iterable[Bgr], rate: int = 10, gop: int = 10, codec: str = "libx264"
) -> Path:
    """Write a clip; the container follows from the suffix."""
    options = {"movflags": "faststart"} if path.suffix == ".mp4" else {}
    with av.open(str(path), "w", options=options) as container:
        stream = None
        for frame in frames:
            if stream is None:
                stream = container.add_stream(codec, rate=Fraction(rate))
                stream.width, stream.height = frame.shape[1], frame.shape[0]
                stream.pix_fmt = "yuv420p"
                stream.codec_context.gop_size = gop
                stream.options = {"tune": "zerolatency", "preset": "ultrafast"}
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="bgr24")))
        assert stream
        container.mux(stream.encode(None))
    return path
