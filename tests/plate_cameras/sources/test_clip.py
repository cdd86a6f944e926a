"""Files of all formats get the same number of looks as the same clip in MP4."""

import io
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import av
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plate_cameras.sources.capture import Capture
from plate_cameras.sources.clip import ClipPlayback, ClipTimes
from plate_cameras.sources.looks import Look
from plate_cameras.sources.network.addresses import parse_address
from plate_cameras.sources.network.failures import SourceError
from plate_cameras.sources.status import Limits, Progress
from tests.fuzzing.profiles import quick
from tests.plate_cameras.clips import RATE, announce_jpeg, announce_png, encode, street

LOOKS_PER_S, FRAMES = 5, 50
TIMES_S = [pytest.approx(i / LOOKS_PER_S, abs=0.011) for i in range(FRAMES * LOOKS_PER_S // RATE)]


class LookRecorder:
    """A slot that takes every look at once."""

    def __init__(self) -> None:
        self.looks: list[Look] = []

    def put(self, look: Look, beat: Callable[[], None]) -> None:
        del beat
        self.looks.append(look)

    def drain(self, beat: Callable[[], None]) -> None:
        """Do nothing: no look waits."""


def play(file: Path) -> list[float]:
    """Return the times of the looks at a file."""
    recorder, limits = LookRecorder(), Limits()
    with Capture.open(parse_address(str(file), limits), limits) as capture:
        ClipPlayback(capture, LOOKS_PER_S, None, slot=recorder, progress=Progress()).run(
            lambda: True
        )
    return [look.time_s for look in recorder.looks]


def write(file: Path, content: bytes) -> Path:
    file.write_bytes(content)
    return file


@pytest.mark.parametrize(
    ("form", "codec", "name"),
    [
        ("mp4", "libx264", "CLIP.TS"),
        ("mpegts", "libx264", "clip.webm"),
        ("matroska", "libx264", "clip.mts"),
        ("flv", "libx264", "clip"),
        ("mpeg", "mpeg2video", "clip.txt"),
        ("avi", "mjpeg", "clip.webm"),
        ("h264", "libx264", "clip.mts"),
        ("h264", "libx264", "clip.txt"),
        ("hevc", "libx265", "CLIP.TS"),
        ("mjpeg", "mjpeg", "clip"),
        ("m4v", "mpeg4", "clip.txt"),
    ],
)
def test_a_file_is_known_by_its_content(tmp_path: Path, form: str, codec: str, name: str) -> None:
    clip = encode(street(FRAMES), form=form, codec=codec)
    assert play(write(tmp_path / name, clip)) == TIMES_S


def shift(clip: bytes, shift_s: float) -> bytes:
    """Return a clip as a transport stream with other time stamps."""
    target = io.BytesIO()
    with av.open(io.BytesIO(clip)) as source, av.open(target, "w", format="mpegts") as container:
        stream = container.add_stream_from_template(source.streams.video[0])
        for packet in source.demux(video=0):
            ticks = round(shift_s / packet.time_base)
            packet.pts = None if packet.pts is None else packet.pts + ticks
            packet.dts = None if packet.dts is None else packet.dts + ticks
            packet.stream = stream
            _ = packet.dts is None or container.mux(packet)
    return target.getvalue()


@pytest.mark.parametrize("start_s", [0.0, 777.0, 26.5 * 3600 - 1.0])
def test_time_stamps_of_a_transport_stream_may_start_anywhere(
    tmp_path: Path, start_s: float
) -> None:
    """Time stamps restart from 0 after 2 to the power of 33 ticks, which are 26.5 hours."""
    clip = shift(encode(street(FRAMES)), start_s)
    assert play(write(tmp_path / "clip.ts", clip)) == TIMES_S


@pytest.mark.parametrize("second_s", [0.0, 50.0, 9000.0])
def test_joined_recordings_are_looked_at_to_the_end(tmp_path: Path, second_s: float) -> None:
    clip = encode(street(FRAMES))
    times = play(write(tmp_path / "clip.ts", shift(clip, 100.0) + shift(clip, second_s)))
    assert len(times) == pytest.approx(2 * len(TIMES_S), abs=1)
    assert times[-1] == pytest.approx(2 * FRAMES / RATE, abs=0.5)


def test_frames_that_are_stored_in_another_order_are_shown_in_theirs(tmp_path: Path) -> None:
    target = io.BytesIO()
    with av.open(target, "w", format="mpegts") as container:
        stream = container.add_stream("libx264", rate=RATE)
        stream.height, stream.width = street(FRAMES)[0].shape[:2]
        stream.codec_context.options = {"bf": "3", "preset": "fast"}
        for index, picture in enumerate(street(FRAMES)):
            frame = av.VideoFrame.from_ndarray(picture, format="bgr24")
            frame.pts, frame.time_base = index, Fraction(1, RATE)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    assert play(write(tmp_path / "clip.ts", target.getvalue())) == TIMES_S


@pytest.mark.parametrize("announce", [announce_png, announce_jpeg])
@pytest.mark.parametrize("size_wh", [(8000, 7000), (16384, 16384), (30_000, 20_000)])
def test_frames_that_are_too_large_are_told_and_not_decoded(
    tmp_path: Path, announce: Callable[[int, int], bytes], size_wh: tuple[int, int]
) -> None:
    with pytest.raises(SourceError, match=r"at most 50 million pixels|too large"):
        play(write(tmp_path / "large", announce(*size_wh)))


def test_a_file_of_which_no_frame_can_be_decoded_is_told(tmp_path: Path) -> None:
    clip = bytearray(encode(street(3), form="matroska"))
    clip[700:-200] = bytes(len(clip) - 900)
    with pytest.raises(SourceError, match=r"clip\.mkv"):
        play(write(tmp_path / "clip.mkv", bytes(clip)))


def times(
    pts_s: Sequence[float | None],
    *,
    rate: float | None = 25.0,
    start_s: float | None = 0.0,
    may_jump: bool = True,
) -> list[float]:
    clip = ClipTimes(rate, start_s, may_jump=may_jump)
    return [clip.time_of(time_stamp_s) for time_stamp_s in pts_s]


EVENLY = [0, 0.04, 0.08, 0.12]


@pytest.mark.parametrize(
    ("pts_s", "settings", "expected"),
    [
        pytest.param([1.4, 1.44, 1.5], {"start_s": 1.4}, [0, 0.04, 0.1], id="from the start"),
        pytest.param([2.0, 2.04], {"start_s": 1.4}, [0.6, 0.64], id="the first frame is late"),
        pytest.param([2.0, 2.04], {"start_s": None}, [0, 0.04], id="no start"),
        pytest.param([2.0, 2.04], {"start_s": 3.0}, [0, 0.04], id="a start after the frames"),
        pytest.param([2.0, 2.04], {"start_s": -1000.0}, [0, 0.04], id="a start long before"),
        pytest.param([None] * 4, {"rate": 10}, [0, 0.1, 0.2, 0.3], id="by the rate"),
        pytest.param([None] * 2, {"rate": 1000}, [0, 0.001], id="by the greatest rate"),
        pytest.param([None] * 2, {"rate": None}, [0, 0.04], id="no rate"),
        pytest.param([None] * 2, {"rate": 0.0}, [0, 0.04], id="a rate of zero"),
        pytest.param([None] * 2, {"rate": -5.0}, [0, 0.04], id="a rate below zero"),
        pytest.param([None] * 2, {"rate": 90_000.0}, [0, 0.04], id="a rate that cannot be"),
        pytest.param([0, None, None, 0.12, 0.16], {}, [*EVENLY, 0.16], id="some are missing"),
        pytest.param([0, None, None, 0.06, 0.2], {}, [0, 0.04, 0.08, 0.081, 0.2], id="overtaken"),
        pytest.param([None, None, 70.0, 70.04], {"start_s": None}, EVENLY, id="missing at first"),
        pytest.param([5.0] * 4, {"start_s": 5.0}, EVENLY, id="they stand still"),
        *(
            pytest.param([0, 0.04, 0.08 + jump_s, 0.12 + jump_s], {}, EVENLY, id=f"jump {jump_s}")
            for jump_s in (-95443.7, -1.1, 10.1, 3600.0)
        ),
        pytest.param([0, 0.04, 300], {"may_jump": False}, [0, 0.04, 300], id="a long gap"),
        pytest.param([0, 0.04, 9], {}, [0, 0.04, 9], id="a gap that is no jump"),
        pytest.param([0, 0.01, 0.5, 3.0], {}, [0, 0.01, 0.5, 3.0], id="unevenly far apart"),
    ],
)
def test_times_follow_from_time_stamps_or_the_rate(
    pts_s: list[float | None], settings: dict[str, Any], expected: list[float]
) -> None:
    assert times(pts_s, **settings) == pytest.approx(expected, abs=1e-6)


PTS = st.one_of(st.none(), st.floats(-1e6, 1e6), st.sampled_from([0.0, 0.04, 0.08, 95443.7]))


@quick
@given(st.lists(PTS, max_size=40), st.one_of(st.none(), st.floats(-1e6, 1e6)), st.booleans())
def test_times_always_grow(
    pts_s: list[float | None], start_s: float | None, may_jump: bool
) -> None:
    times_s = times(pts_s, start_s=start_s, may_jump=may_jump)
    assert all(later > earlier for earlier, later in pairwise(times_s))
    assert all(time_s >= 0 for time_s in times_s)
