"""A clip's frames: their selection, their times, and the end of a damaged file."""

import io
import struct
from importlib import import_module

import av
import numpy as np
import pytest

from orchestrator.errors import PictureError

VERSION = "examples.stream.model_repository.plates_stream.1"
WIDE, HIGH = 64, 48


@pytest.fixture(scope="module")
def module():
    return import_module(f"{VERSION}.frames")


@pytest.fixture(scope="module")
def frames(module):
    return module.frames


def clip(count: int, kind: str = "mp4") -> bytes:
    """Return a clip whose frames become brighter; their upper left quarter is white."""
    file = io.BytesIO()
    with av.open(file, "w", format=kind) as container:
        video = container.add_stream("libx264", rate=10)
        video.width, video.height, video.pix_fmt = WIDE, HIGH, "yuv420p"
        for index in range(count):
            bgr = np.full((HIGH, WIDE, 3), 20 + index * 2, np.uint8)
            bgr[: HIGH // 2, : WIDE // 2] = 255
            container.mux(video.encode(av.VideoFrame.from_ndarray(bgr, format="bgr24")))
        container.mux(video.encode(None))
    return file.getvalue()


def turned(mp4: bytes) -> bytes:
    """Return a clip as an upright phone writes it: with a rotation for the display."""
    unit_16, unit_30 = 0x10000, 0x40000000
    level = struct.pack(">9i", unit_16, 0, 0, 0, unit_16, 0, 0, 0, unit_30)
    right = struct.pack(">9i", 0, unit_16, 0, -unit_16, 0, 0, 0, 0, unit_30)
    start = mp4.index(level, mp4.index(b"tkhd"))
    return mp4[:start] + right + mp4[start + len(level) :]


def refuse(frames, file: bytes) -> tuple[int, str]:
    """Return the number of frames before a clip is rejected, and the error."""
    taken_frames = []
    with pytest.raises(PictureError) as raised:
        taken_frames.extend(frames(file, 0))
    return len(taken_frames), str(raised.value)


@pytest.mark.parametrize(
    ("every_s", "numbers"),
    [(0, [*range(10)]), (0.1, [*range(10)]), (0.25, [0, 3, 6, 9]), (0.4, [0, 4, 8]), (60, [0])],
)
def test_one_frame_of_so_many_seconds_is_taken(frames, every_s: float, numbers: list[int]) -> None:
    assert [frame.number for frame in frames(clip(10), every_s)] == numbers


def test_a_clip_filmed_upright_is_turned_upright(frames) -> None:
    first = next(frames(turned(clip(1)), 0)).bgr
    assert first.shape == (WIDE, HIGH, 3)
    assert first[5, HIGH - 5].min() > 245  # the upper left quarter, turned to the right
    assert first[5, 5].max() < 30


@pytest.mark.parametrize(
    "file",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"a clip", id="text"),
        pytest.param(clip(1)[:40], id="a head alone"),
        pytest.param(b"\xff\xd8\xff\xe0", id="a picture"),
        pytest.param(b"#EXTM3U\n#EXTINF:10,\n/etc/hostname\n#EXT-X-ENDLIST\n", id="playlist"),
    ],
)
def test_bytes_that_are_no_clip_are_refused(frames, file: bytes) -> None:
    count, message = refuse(frames, file)
    assert count == 0
    assert f"wanted a whole video file (mov,mp4,matroska,webm,mpegts), got {len(file)} " in message


def test_a_file_without_a_picture_is_refused(frames) -> None:
    file = io.BytesIO()
    with av.open(file, "w", format="matroska") as container:
        sound = container.add_stream("pcm_s16le", rate=8000)
        samples = av.AudioFrame.from_ndarray(np.zeros((1, 800), np.int16), "s16", "mono")
        samples.sample_rate = 8000
        container.mux(sound.encode(samples))
    assert refuse(frames, file.getvalue())[0] == 0


def test_a_damaged_mp4_gives_what_lies_before_the_damage(frames) -> None:
    file = bytearray(clip(60))
    middle = (file.index(b"mdat") + file.index(b"moov")) // 2
    file[middle : middle + 200] = bytes(200)
    count, message = refuse(frames, bytes(file))
    assert 5 < count < 60
    assert f"end after {count} frames, {(count - 1) / 10:.1f} s" in message


def test_a_matroska_file_that_was_cut_off_is_told_at_its_end(frames) -> None:
    file = clip(60, "matroska")
    count, message = refuse(frames, file[: len(file) // 2])
    assert 5 < count < 60
    assert message.endswith("wanted 6.0 s")


def test_too_large_a_picture_is_never_unpacked(frames, module, monkeypatch) -> None:
    monkeypatch.setattr(module, "MAX_PIXELS", WIDE * HIGH - 1)
    count, message = refuse(frames, clip(1))
    assert count == 0
    assert "clip: wanted at most 3071 pixels" in message
