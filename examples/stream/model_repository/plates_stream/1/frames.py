"""The frames of a clip, decoded only when they are requested."""

import io
from collections.abc import Generator
from typing import NamedTuple

import av
import numpy as np

from orchestrator.errors import PictureError
from orchestrator.imaging.files import Bgr
from orchestrator.settings import Settings

FORMATS = "mov,mp4,matroska,webm,mpegts"
"""Formats without playlists, which would make the server open files and addresses by itself."""
MAX_PIXELS = Settings().max_pixels


class Frame(NamedTuple):
    number: int
    time_s: float
    bgr: Bgr


def frames(file: bytes, every_s: float) -> Generator[Frame, None, None]:
    """Yield a frame per `every_s` seconds, or every frame when 0, to the end or first damage."""
    count, time_s, due_s = 0, 0.0, 0.0
    try:
        with av.open(io.BytesIO(file), "r", options={"format_whitelist": FORMATS}) as clip:
            video = clip.streams.video[0]
            if video.width * video.height > MAX_PIXELS:
                raise PictureError(f"clip: wanted at most {MAX_PIXELS} pixels, got {video}")
            video.thread_count = 1  # the networks use the cores
            start_s = float((video.start_time or 0) * (video.time_base or 0))
            for count, frame in enumerate(clip.decode(video), 1):
                time_s = (frame.time or 0.0) - start_s
                if time_s > due_s - 1e-6:
                    due_s = time_s + every_s
                    upright = np.rot90(frame.to_ndarray(format="bgr24"), frame.rotation // 90)
                    yield Frame(count - 1, time_s, np.ascontiguousarray(upright))
            whole_s = 0 if video.duration else (clip.duration or 0) / av.time_base
            if time_s < whole_s - 2:  # FFmpeg does not report this for a Matroska file
                raise EOFError(f"wanted {whole_s:.1f} s")
    except (av.FFmpegError, IndexError, EOFError) as error:
        got = f"{len(file)} bytes that end after {count} frames, {time_s:.1f} s: {error}"
        raise PictureError(f"clip: wanted a whole video file ({FORMATS}), got {got}") from error
