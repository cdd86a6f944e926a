"""Real RTSP streams of Debian's GStreamer server, disturbed as real cameras are."""

import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from plate_cameras.configuration import Camera, Zone
from plate_cameras.frames import Frame
from plate_cameras.sources.camera_stream import CameraStream
from plate_cameras.sources.decoders import Decoders
from plate_cameras.sources.status import Limits
from tests.plate_cameras.servers import RtspCamera, check_gstreamer, rtsp_camera
from tests.plate_cameras.sources.network.two_minutes import COUNT, RATE, read_number, write_clip
from tests.plate_cameras.streams import take, take_until, wait

pytestmark = pytest.mark.server
LIMITS = Limits(open_s=5, read_s=2, first_pause_s=0.1, max_pause_s=0.5, rest_look_s=1)


OFF_S = 0.3
"""Largest difference of a frame's time from its place in the clip, in seconds."""


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    check_gstreamer()
    return write_clip(tmp_path_factory.mktemp("clip"))


@pytest.fixture(scope="module")
def rtsp(clip: Path) -> Iterator[RtspCamera]:
    with rtsp_camera(clip) as camera:
        yield camera


@dataclass(frozen=True)
class ClipPlace:
    """A frame's time, and its place in the clip."""

    time_s: float
    clip_s: float

    @classmethod
    def of(cls, frame: Frame) -> "ClipPlace":
        return cls(frame.time_s, read_number(frame.jpeg) / RATE)

    def since_s(self, later: "ClipPlace") -> tuple[float, float]:
        """Return the time between two frames by their stamps and by the clip, which repeats."""
        return later.time_s - self.time_s, (later.clip_s - self.clip_s) % (COUNT / RATE)


async def take_place(stream: CameraStream, since: float = 0.0) -> ClipPlace:
    """Return the place of the first frame that is later than a time, by the stream's clock."""
    return ClipPlace.of(
        await take_until(stream, lambda frame: frame.clock == "stream" and frame.time_s > since)
    )


async def check_pace(stream: CameraStream) -> ClipPlace:
    """Check that the clip advances at the pace of time; return the last place."""
    first = await take_place(stream)
    last = await take_place(stream, first.time_s + 1)
    time_s, clip_s = first.since_s(last)
    assert clip_s == pytest.approx(time_s, abs=OFF_S)
    return last


async def test_a_clip_goes_on_after_all_that_befalls_its_stream(rtsp: RtspCamera) -> None:
    async with Decoders(limits=LIMITS) as decoders:
        url = rtsp.url.replace("rtsp://", "rtsp://admin:s3cret@")
        stream = decoders.open(Camera("gate", url, motion_threshold=0))
        place_before = await check_pace(stream)

        rtsp.tell("240 136")
        resized_frame = await take_until(stream, lambda frame: frame.size_wh == (240, 136))
        time_s, clip_s = place_before.since_s(ClipPlace.of(resized_frame))
        assert clip_s == pytest.approx(time_s, abs=OFF_S)
        assert stream.status.reconnects == 0  # another size is no error

        rtsp.kill()
        await wait(lambda: stream.status.reconnects >= 2, "attempts to connect again")
        assert "connection refused" in stream.status.last_error
        rtsp.start()
        frame_after = await take_until(stream, lambda frame: frame.size_wh == (320, 180))
        assert frame_after.number > resized_frame.number
        assert frame_after.time_s > resized_frame.time_s
        assert ClipPlace.of(frame_after).clip_s < place_before.clip_s  # it begins anew
        await check_pace(stream)

        reconnects = stream.status.reconnects
        rtsp.process.send_signal(signal.SIGSTOP)
        await wait(lambda: stream.status.reconnects > reconnects, "notice that no data come")
        assert "no data came in time" in stream.status.last_error
        continued_s = time.time()
        rtsp.process.send_signal(signal.SIGCONT)
        await take_place(stream, continued_s)
        await check_pace(stream)
        assert "s3cret" not in stream.status.last_error


async def test_the_clock_is_the_stream_s_own_and_frames_are_new(rtsp: RtspCamera) -> None:
    async with Decoders(limits=LIMITS) as decoders:
        stream = decoders.open(Camera("gate", rtsp.url, motion_threshold=0))
        frame = await take_until(stream, lambda frame: frame.clock == "stream")
        assert abs(time.time() - frame.time_s) < 5
        assert stream.status.delay_s is not None


async def test_other_masks_count_at_once_and_the_stream_stays_open(rtsp: RtspCamera) -> None:
    everything = Zone("all", ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)))
    async with Decoders(limits=LIMITS) as decoders:
        stream = decoders.open(Camera("gate", rtsp.url, masks=(everything,)))
        await take(stream, 1)
        decoded_before = stream.status.decoded
        await wait(lambda: stream.status.decoded > decoded_before + 3, "frames that are compared")
        assert not stream.status.motion

        stream.configure(Camera("gate", rtsp.url))
        await wait(lambda: stream.status.motion, "motion that counts now")
        assert stream.status.reconnects == 0
