"""Cameras in real child processes: files, HTTP streams, hangs and ends of processes."""

import asyncio
import itertools
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import cv2
import numpy as np
import pytest

from orchestrator.errors import SettingsError
from plate_cameras.configuration import Camera, Schedule
from plate_cameras.sources.decoders import Decoders
from plate_cameras.sources.status import Limits
from tests.plate_cameras.clips import encode, street
from tests.plate_cameras.servers import HttpCamera
from tests.plate_cameras.streams import WITHIN_S, take, take_all, wait
from tests.samples import PROJECT
from tests.waiting import until

pytestmark = pytest.mark.server
QUICK = Limits(first_pause_s=0.1, max_pause_s=0.5, rest_look_s=0.5, frozen_s=1.0)


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four seconds with a box that drives."""
    file = tmp_path_factory.mktemp("clip") / "clip.mp4"
    file.write_bytes(encode(street(100)))
    return file


TIMES_S = [i / 5 for i in range(20)]
"""Times of five looks in a second at the clip."""


@pytest.mark.parametrize("pause_s", [0.0, 0.1])
async def test_a_file_gives_every_look_however_slow_it_is_read(
    clip: Path, pause_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(clip.parent)  # a path counts from the folder of the caller
    async with Decoders(limits=QUICK) as decoders:
        stream = decoders.open(Camera("gate", clip.name, looks_per_s=5))
        assert await asyncio.wait_for(stream.wait_for_frame(), WITHIN_S)
        with pytest.raises(asyncio.TimeoutError):  # a taker that is cancelled loses no look
            await asyncio.wait_for(stream.next(), 1e-6)
        frames = await take_all(stream, pause_s)
    assert [frame.time_s for frame in frames] == pytest.approx(TIMES_S)
    assert [frame.number for frame in frames] == [1 + 5 * i for i in range(20)]
    assert {(frame.camera, frame.clock, frame.size_wh) for frame in frames} == {
        ("gate", "file", (320, 180))
    }
    status = stream.status
    assert (status.state, status.sent, status.dropped, status.decoded) == ("ended", 20, 0, 100)
    pictures = [cv2.imdecode(np.frombuffer(frame.jpeg, np.uint8), 1) for frame in frames]
    assert min(map(cv2.PSNR, pictures, street(100)[::5])) > 25


@pytest.mark.parametrize(
    ("content", "error"),
    [
        pytest.param(None, "gate: cannot open clip.mp4: there is no such file", id="no file"),
        pytest.param(b"no video" * 999, "gate: cannot open clip.mp4: the data are no", id="text"),
    ],
)
async def test_a_file_that_cannot_be_played_is_an_error(
    tmp_path: Path, content: bytes | None, error: str
) -> None:
    file = tmp_path / "clip.mp4"
    _ = content is None or file.write_bytes(content)
    with pytest.raises(SettingsError, match=error):
        await open_and_wait(Camera("gate", str(file)), QUICK)


async def open_and_wait(camera: Camera, limits: Limits) -> None:
    """Wait for the first frame of a camera."""
    async with Decoders(limits=limits) as decoders:
        await asyncio.wait_for(decoders.open(camera).wait_for_frame(), WITHIN_S)


async def test_a_file_goes_on_where_it_was_when_its_process_is_killed(clip: Path) -> None:
    async with Decoders(limits=QUICK) as decoders:
        stream = decoders.open(Camera("gate", str(clip), looks_per_s=5))
        frames = await take(stream, 7)
        pid = decoders.groups[0].pid
        assert pid
        os.kill(pid, signal.SIGKILL)
        frames = frames + await take_all(stream)
    assert [frame.time_s for frame in frames] == pytest.approx(TIMES_S)
    assert stream.status.reconnects == 1
    assert stream.status.last_error == "a decoder has ended. It is started again"


async def test_a_hung_camera_has_its_process_started_again_and_the_others_come_back(
    tmp_path: Path, http: HttpCamera
) -> None:
    pipe = tmp_path / "pipe.mp4"
    os.mkfifo(pipe)  # nobody writes, so that opening it blocks in the kernel for ever
    limits = Limits(hang_s=2.0, first_pause_s=0.1, max_pause_s=600, rest_look_s=0.5)
    async with Decoders(limits=limits) as decoders:
        well = decoders.open(Camera("well", http.url()))
        await take(well, 1)
        hung = decoders.open(Camera("hung", str(pipe)))
        pid = decoders.groups[0].pid
        await wait(lambda: hung.status.reconnects, "an end of the hung camera's process")
        await wait(lambda: decoders.groups[0].pid not in (None, pid), "another process")
        await take(well, 2)
        apart = [[*group.streams.values()] for group in decoders.groups]
        assert apart == [[well], [hung]]  # it interrupts no other camera any more
    assert "the source of camera hung hung" in hung.status.last_error
    assert well.status.reconnects >= 1


async def test_a_file_that_hangs_again_and_again_is_given_up(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.mp4"
    os.mkfifo(pipe)
    limits = Limits(hang_s=1.5, first_pause_s=0.01, max_pause_s=0.01)
    with pytest.raises(SettingsError, match="hung: the source of camera hung hung"):
        await open_and_wait(Camera("hung", str(pipe)), limits)


async def test_a_process_that_is_stopped_is_started_again(http: HttpCamera) -> None:
    async with Decoders(limits=Limits(hang_s=2, first_pause_s=0.1)) as decoders:
        stream = decoders.open(Camera("gate", http.url()))
        await take(stream, 1)
        pid = decoders.groups[0].pid
        assert pid
        os.kill(pid, signal.SIGSTOP)
        await wait(lambda: "no sign" in stream.status.last_error, "the watchdog's report")
        await take(stream, 1)


async def test_a_stream_that_ends_is_opened_again(http: HttpCamera) -> None:
    async with Decoders(limits=QUICK) as decoders:
        stream = decoders.open(Camera("gate", http.url()))
        (first,) = await take(stream, 1)
        http.ends = True
        await wait(lambda: stream.status.reconnects, "another connection")
        http.ends = False
        (later,) = await take(stream, 1)
        assert later.number > first.number
        assert later.time_s > first.time_s
    assert (stream.status.clock, http.connections >= 2) == ("wall", True)


async def test_frames_that_nobody_asked_for_are_dropped_and_the_newest_is_sent(
    http: HttpCamera,
) -> None:
    async with Decoders(limits=QUICK) as decoders:
        stream = decoders.open(Camera("gate", http.url(), looks_per_s=10, motion_threshold=0))
        await take(stream, 1)
        await wait(lambda: stream.status.dropped >= 5, "frames that are dropped")
        asked_s = time.time()
        (frame,) = await take(stream, 1)
        assert frame.time_s > asked_s - 0.5
    assert stream.status.dropped_share == stream.status.dropped / (2 + stream.status.dropped)


async def test_a_picture_that_is_repeated_is_told_and_not_sent_again(http: HttpCamera) -> None:
    async with Decoders(limits=QUICK) as decoders:
        stream = decoders.open(Camera("gate", http.url(), motion_threshold=0))
        await take(stream, 1)
        http.repeats = True
        await wait(lambda: stream.status.state == "frozen", "a frozen stream")
        await stream.next()  # one may wait from before
        decoded_before = stream.status.decoded
        await wait(lambda: stream.status.decoded > decoded_before + 10, "more frames")
        sent_before = stream.status.sent
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(stream.wait_for_frame(), 0.5)
        http.repeats = False
        await take(stream, 2)
        await wait(lambda: stream.status.state == "playing", "a stream that plays again")
        assert stream.status.sent == sent_before + 2


async def test_a_scene_that_rests_has_a_look_now_and_then(http: HttpCamera) -> None:
    http.frames = street(50, box_from=1000)
    async with Decoders(limits=Limits(rest_look_s=1.0)) as decoders:
        frames = await take(decoders.open(Camera("gate", http.url(), looks_per_s=10)), 3)
    times = [frame.time_s for frame in frames]
    assert times[2] - times[0] >= 1.5


async def test_a_clip_of_a_web_server_is_a_file(http: HttpCamera, clip: Path) -> None:
    http.files["clip.mp4"] = clip.read_bytes()
    async with Decoders(limits=QUICK) as decoders:
        frames = await take_all(decoders.open(Camera("a", http.url("clip.mp4"), looks_per_s=5)))
    assert [frame.time_s for frame in frames] == pytest.approx(TIMES_S)


async def test_cameras_come_and_go_while_others_play(http: HttpCamera) -> None:
    async with Decoders(per_process=2, limits=QUICK) as decoders:
        first = decoders.open(Camera("1", http.url()))
        await take(first, 1)
        others = [decoders.open(Camera(str(i), http.url())) for i in (2, 3)]
        for stream in others:
            await take(stream, 1)
        sizes = [len(group.streams) for group in decoders.groups]
        await others[1].close()
        await wait(lambda: decoders.groups[1].has_ended, "an end of the empty process")
        await take(first, 1)
        assert first.status.reconnects == 0
        assert not await others[1].wait_for_frame()
        assert await others[1].next() is None
    assert sizes == [2, 1]


async def test_outside_of_its_hours_a_camera_is_not_connected(http: HttpCamera) -> None:
    async with Decoders(limits=QUICK) as decoders:
        stream = decoders.open(Camera("gate", http.url(), schedule=Schedule(days=())))
        await wait(lambda: stream.status.state == "off", "a camera that is off")
    assert http.connections == 0


LOGINS = ("admin:s3cret@", "admin:s3@cret@", "admin:s3%40cret@", "s3cret:x@", "a:s3%2Fcret@")
SCHEMES = ("http", "rtsp", "https", "rtsps")
PATHS = ("private?key=s3cret", "video;cret=s3")


async def test_no_part_of_a_url_but_its_host_is_told(
    http: HttpCamera, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """Every URL leads to an HTTP server, so most of these cameras cannot be opened."""
    http.ends = True
    urls = [
        f"{scheme}://{login}127.0.0.1:{http.port}/{path}"
        for scheme, login, path in itertools.product(SCHEMES, LOGINS, PATHS)
    ]
    limits = Limits(open_s=5, read_s=5, first_pause_s=0.05, max_pause_s=0.05)
    async with Decoders(per_process=len(urls), limits=limits) as decoders:
        streams = [decoders.open(Camera(str(i), url)) for i, url in enumerate(urls)]
        for stream in streams:
            await wait(lambda stream=stream: stream.status.reconnects, "a second attempt")
    output = capfd.readouterr()
    everything = f"{[stream.status for stream in streams]} {output.out} {output.err} {caplog.text}"
    assert all(f"://127.0.0.1:{http.port}" in stream.status.last_error for stream in streams)
    refusal = f"cannot open http://127.0.0.1:{http.port}: user name or password are wrong (401)"
    assert streams[0].status.last_error == refusal
    assert f"0: {refusal}" in caplog.messages
    assert "s3" not in everything
    assert "cret" not in everything


async def test_pictures_that_come_slowly_have_the_times_of_their_arrival(http: HttpCamera) -> None:
    """FFmpeg gives the frames time stamps at 25 a second."""
    http.rate = 5.0
    async with Decoders(limits=QUICK) as decoders:
        stream = decoders.open(Camera("gate", http.url(), looks_per_s=25, motion_threshold=0))
        times = [frame.time_s for frame in await take(stream, 10)]
    assert (times[-1] - times[0]) / 9 > 0.15


PARENT = """
import asyncio, sys
from plate_cameras.configuration import Camera
from plate_cameras.sources.decoders import Decoders

async def run():
    async with Decoders() as decoders:
        await decoders.open(Camera("gate", sys.argv[1])).wait_for_frame()
        print(decoders.groups[0].pid, flush=True)
        await asyncio.sleep(600)

asyncio.run(run())
"""


def test_a_child_ends_with_its_parent(http: HttpCamera) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, http.url()], cwd=PROJECT, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.kill()
    until(lambda: not Path(f"/proc/{pid}").exists() or _is_zombie(pid), "an end of the child")


async def test_its_end_is_waited_for_when_every_thread_is_busy(http: HttpCamera) -> None:
    loop = asyncio.get_running_loop()
    loop.set_default_executor(ThreadPoolExecutor(1))
    async with Decoders(limits=QUICK) as decoders:
        stream = decoders.open(Camera("gate", http.url()))
        await asyncio.wait_for(stream.wait_for_frame(), WITHIN_S)
        pid = decoders.groups[0].pid
        busy = loop.run_in_executor(None, time.sleep, 0.3)
        await stream.close()
        await asyncio.sleep(0.1)  # its end now waits for the thread
    await busy
    assert not Path(f"/proc/{pid}").exists()


def _is_zombie(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
