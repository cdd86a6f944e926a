"""Real video artefacts: pictures are encoded with a camera's settings, and decoded again.

The codecs themselves make the blocks, ringing, lost detail and smeared colour, through PyAV. Their
settings are those of network cameras (H.264), recorders (interlaced H.264) and old cameras (MPEG-4,
MJPEG). One thread works in memory; the same generator and frames give the same pictures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, TypeAlias

import av
import cv2
import numpy as np

from orchestrator.imaging.files import Bgr

RATE = 25
"""Frames a second."""
FRAMES = (4, 7)
"""Smallest and greatest number of frames in the clip that is made of one picture."""
MAX_DRIFT_SHARE = 0.05
"""Greatest drift from frame to frame, as a part of the picture's longer side."""
GRAIN = 4.0
"""Greatest standard deviation of the sensor's noise; the codec sees other noise in each frame."""
PRESETS = ("ultrafast", "superfast", "veryfast", "faster")
"""Presets of x264 that the chip of a camera is fast enough for."""
CPU_INDEPENDENT = "cpu-independent=1"
"""Option of x264. Without it, one clip in fifty differs from run to run by its lookahead (SIMD)."""
VideoPacket: TypeAlias = "av.Packet[av.VideoStream]"
Codec = Literal["libx264", "mpeg4", "mjpeg"]
CODECS: tuple[Codec, ...] = ("libx264", "mpeg4", "mjpeg")
REFERENCE_WH = (320, 180)
"""Picture size to which bit rates refer."""
MIN_BITS = 2000
"""Smallest number of bits a second: x264 counts in thousands, and rejects 0."""
SHARES = (0.8, 0.1, 0.1)
"""Shares of `CODECS` among the cameras."""


@dataclass(frozen=True)
class Encoder:
    """A camera's encoder.

    Attributes:
        gop: Number of frames from one keyframe to the next.
        bits_per_pixel: Bits per pixel at `REFERENCE_WH`, see `bit_rate`; None if the options fix
            the quality instead.
    """

    codec: Codec
    options: dict[str, str] = field(default_factory=dict)
    gop: int = 50
    bits_per_pixel: float | None = None

    def bit_rate(self, size_wh: tuple[int, int]) -> int | None:
        """Return the bits a second for a picture size; None if the options fix the quality.

        They grow with the square root of the pixels: per pixel, a cut-out has more detail than a
        whole street.
        """
        if self.bits_per_pixel is None:
            return None
        pixels = float(np.sqrt(np.prod(size_wh) * np.prod(REFERENCE_WH)))
        return max(MIN_BITS, round(self.bits_per_pixel * pixels * RATE))


def random_encoder(rng: np.random.Generator) -> Encoder:
    """Return a random encoder like those of cameras, of low to fair quality."""
    codec = CODECS[int(rng.choice(len(CODECS), p=SHARES))]
    if codec == "libx264":
        return _h264(rng)
    coarse = str(int(rng.integers(3, 15 if codec == "mjpeg" else 13)))
    gop = 1 if codec == "mjpeg" else int(rng.choice([5, 12, 50]))
    return Encoder(codec, {"qmin": coarse, "qmax": coarse}, gop)


def _h264(rng: np.random.Generator) -> Encoder:
    """Return an encoder of H.264, at constant quality or at a bit rate."""
    parameters = ["threads=1", "sliced-threads=0", CPU_INDEPENDENT]
    if rng.random() < 0.15:
        parameters.append("no-deblock=1")
    if rng.random() < 0.15:
        parameters.append("interlaced=1")
    options = {"preset": str(rng.choice(PRESETS))}
    if rng.random() < 0.7:
        options["tune"] = "zerolatency"  # no frame depends on a later one
    gop = int(rng.choice([5, 12, 25, 50]))
    bits: float | None = None
    if rng.random() < 0.6:
        options["crf"] = f"{rng.uniform(20, 36):.1f}"
    else:
        bits = float(np.exp(rng.uniform(*np.log([0.1, 0.7]))))
    options["x264-params"] = ":".join(parameters)
    return Encoder("libx264", options, gop, bits)


def through_video(rng: np.random.Generator, frames: Sequence[Bgr]) -> list[Bgr]:
    """Encode a clip with a random camera's encoder, and decode it again.

    Args:
        rng: Chooses codec and settings.
        frames: (H, W, 3) uint8 BGR of one size, 25 a second.

    Returns:
        As many frames of the same size.

    Raises:
        ValueError: The frames differ in size.
    """
    return transcode(frames, random_encoder(rng))


def transcode(frames: Sequence[Bgr], encoder: Encoder) -> list[Bgr]:
    """Encode a clip with an encoder, and decode it again.

    Args:
        frames: (H, W, 3) uint8 BGR of one size, 25 a second.
        encoder: Encoder of the clip.

    Returns:
        As many frames of the same size.

    Raises:
        ValueError: The frames differ in size.
    """
    sizes = sorted({frame.shape[1::-1] for frame in frames})
    if not sizes:
        return []
    if len(sizes) > 1:
        raise ValueError(f"frames: wanted one size, got {sizes[0]} and {sizes[-1]}")
    ((width, height),) = sizes
    decoded_frames = _decode(encoder, _encode(encoder, [_pad(frame) for frame in frames]))
    return [frame[:height, :width] for frame in decoded_frames]


def _pad(frame: Bgr) -> Bgr:
    """Repeat the last row and column up to multiples of four, for interlaced fields and chroma."""
    down, right = -frame.shape[0] % 4, -frame.shape[1] % 4
    return np.pad(frame, ((0, down), (0, right), (0, 0)), mode="edge")


def _encode(encoder: Encoder, frames: Sequence[Bgr]) -> list[VideoPacket]:
    height, width = frames[0].shape[:2]
    context = av.CodecContext.create(encoder.codec, "w")
    context.width, context.height = width, height
    context.pix_fmt = "yuvj420p" if encoder.codec == "mjpeg" else "yuv420p"
    context.time_base, context.framerate = Fraction(1, RATE), Fraction(RATE)
    context.thread_count, context.gop_size = 1, encoder.gop
    context.options = encoder.options
    if (rate := encoder.bit_rate((width, height))) is not None:
        context.bit_rate = rate
    packets = []
    for index, frame in enumerate(frames):
        video_frame = av.VideoFrame.from_ndarray(frame, format="bgr24")
        video_frame = video_frame.reformat(format=context.pix_fmt, interpolation="AREA", threads=1)
        video_frame.pts, video_frame.time_base = index, context.time_base
        packets += context.encode(video_frame)
    return packets + context.encode(None)


def _decode(encoder: Encoder, packets: Sequence[VideoPacket]) -> list[Bgr]:
    name: Literal["h264", "mpeg4", "mjpeg"]
    name = "h264" if encoder.codec == "libx264" else encoder.codec
    context = av.CodecContext.create(name, "r")
    context.thread_count = 1
    frames = [frame for packet in packets for frame in context.decode(packet)] + context.decode(
        None
    )
    return [frame.to_ndarray(format="bgr24").astype(np.uint8, copy=False) for frame in frames]


def as_frame(rng: np.random.Generator, picture: Bgr) -> Bgr:
    """Turn a picture into the last frame of an encoded clip in which it drifts and changes size.

    The frame lies exactly over the picture, so that known positions in the picture stay valid.

    Returns:
        (H, W, 3) uint8 BGR.
    """
    count = int(rng.integers(FRAMES[0], FRAMES[1] + 1))
    height, width = picture.shape[:2]
    drift = MAX_DRIFT_SHARE * max(height, width) * rng.random() ** 2
    angle = rng.uniform(0, 2 * np.pi)
    step = drift * np.array([np.cos(angle), 0.5 * np.sin(angle)])
    growth, middle = rng.uniform(-0.02, 0.04), np.array([width, height]) / 2
    frames = []
    for ago in range(count - 1, -1, -1):
        zoom = (1 + growth) ** -ago
        offset = middle * (1 - zoom) - step * ago
        matrix = np.array([[zoom, 0, offset[0]], [0, zoom, offset[1]]])
        view = cv2.warpAffine(picture, matrix, (width, height), borderMode=cv2.BORDER_REPLICATE)
        frames.append(view.astype(np.uint8))
    return through_video(rng, _with_noise(rng, frames))[-1]


def _with_noise(rng: np.random.Generator, frames: Sequence[Bgr]) -> list[Bgr]:
    """Add the sensor's noise: one noise field, shifted at random for each frame."""
    sigma, shape = rng.uniform(0, GRAIN), frames[0].shape
    noise = (sigma * rng.standard_normal((*shape[:2], 1), dtype=np.float32)).round().astype("i2")
    noisy = []
    for frame in frames:
        by = [int(side) for side in rng.integers(0, shape[:2])]
        noisy.append((frame + np.roll(noise, by, (0, 1))).clip(0, 255).astype(np.uint8))
    return noisy
