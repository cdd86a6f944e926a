"""Real RTSP streams of Debian's GStreamer server, disturbed in all ways that cameras know."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Iterator

import pytest

from orchestrator.cameras.configuration import Camera, Zone
from orchestrator.cameras.sources.decoders import Decoders
from orchestrator.cameras.sources.limits import Limits
from tests.cameras.clips import street, write_jpegs
from tests.cameras.servers import RtspCamera, check_gstreamer, rtsp_camera
from tests.cameras.streams import take, take_until, wait

pytestmark = pytest.mark.server
LIMITS = Limits(open_s=5, read_s=2, first_pause_s=0.1, longest_pause_s=0.5, rest_look_s=1)


@pytest.fixture(scope="module")
def rtsp(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RtspCamera]:
    check_gstreamer()
    with rtsp_camera(write_jpegs(street(125), tmp_path_factory.mktemp("street"))) as camera:
        yield camera


def test_a_stream_comes_back_after_all_that_befalls_it(rtsp: RtspCamera) -> None:
    async def run() -> None:
        async with Decoders(limits=LIMITS) as decoders:
            url = rtsp.url.replace("rtsp://", "rtsp://admin:s3cret@")
            stream = decoders.open(Camera("gate", url, motion_threshold=0))
            (first,) = await take(stream, 1)
            assert first.size_wh == (320, 180)

            rtsp.tell("240 136")
            await take_until(stream, lambda frame: frame.size_wh == (240, 136))
            assert stream.status.reconnects == 0  # another size is no error

            rtsp.kill()
            await wait(lambda: stream.status.reconnects >= 2, "attempts to connect again")
            assert "connection refused" in stream.status.last_error
            rtsp.start()
            (again,) = await take(stream, 1)
            assert again.time_s > first.time_s
            assert again.number > first.number

            before = stream.status.reconnects
            rtsp.process.send_signal(signal.SIGSTOP)
            await wait(lambda: stream.status.reconnects > before, "notice that no data come")
            assert "no data came in time" in stream.status.last_error
            rtsp.process.send_signal(signal.SIGCONT)
            await take(stream, 2)
            assert "s3cret" not in stream.status.last_error

    asyncio.run(run())


def test_the_clock_is_the_stream_s_own_and_frames_are_new(rtsp: RtspCamera) -> None:
    async def run() -> None:
        async with Decoders(limits=LIMITS) as decoders:
            stream = decoders.open(Camera("gate", rtsp.url, motion_threshold=0))
            frame = await take_until(stream, lambda frame: frame.clock == "stream")
            assert abs(time.time() - frame.time_s) < 5
            assert stream.status.delay_s is not None

    asyncio.run(run())


def test_other_masks_count_at_once_and_the_stream_stays_open(rtsp: RtspCamera) -> None:
    everything = Zone("all", ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)))

    async def run() -> None:
        async with Decoders(limits=LIMITS) as decoders:
            stream = decoders.open(Camera("gate", rtsp.url, masks=(everything,)))
            await take(stream, 1)
            decoded = stream.status.decoded
            await wait(lambda: stream.status.decoded > decoded + 3, "frames that are compared")
            assert not stream.status.motion

            stream.configure(Camera("gate", rtsp.url))
            await wait(lambda: stream.status.motion, "motion that counts now")
            assert stream.status.reconnects == 0

    asyncio.run(run())
