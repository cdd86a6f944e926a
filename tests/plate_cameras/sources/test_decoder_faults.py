"""Unexpected faults inside decoders: every camera continues."""

import asyncio
import sys
from pathlib import Path

import pytest

from plate_cameras.configuration import Camera
from plate_cameras.sources.decoders import Decoders
from plate_cameras.sources.status import Limits
from tests.plate_cameras.clips import encode, street
from tests.plate_cameras.servers import HttpCamera
from tests.plate_cameras.streams import take, take_all, wait

pytestmark = pytest.mark.server
QUICK = Limits(first_pause_s=0.1, max_pause_s=0.5, rest_look_s=0.5)
FAULT = """
import sys
from pathlib import Path
from plate_cameras.sources import __main__, decoder, player

flag = Path({flag!r})

def fail_once(function):
    def failing(*args, **options):
        if flag.exists():
            return function(*args, **options)
        flag.touch()
        raise {error}
    return failing

{target} = fail_once({target})
__main__.main()
"""
ONE_ENCODER = """
import threading, time
from plate_cameras.sources import __main__, decoder

start, encode = threading.Thread.start, decoder.encode_jpeg

def start_one(thread):
    if any(other.name.startswith("jpeg") == thread.name.startswith("jpeg") == True
           for other in threading.enumerate()):
        raise RuntimeError("can't start new thread")
    start(thread)

def encode_slowly(frame):
    time.sleep(0.05)
    return encode(frame)

threading.Thread.start, decoder.encode_jpeg = start_one, encode_slowly
__main__.main()
"""
CHATTER = """
import socket, sys, time
connection = socket.socket(fileno=int(sys.argv[1]))
connection.sendall({message!r})
time.sleep(600)
"""


def failing_once(tmp_path: Path, target: str, error: str) -> tuple[str, ...]:
    """Return the command of a decoder in which a function fails at its first call."""
    script = FAULT.format(flag=str(tmp_path / "failed"), target=target, error=error)
    return sys.executable, "-c", script


@pytest.mark.parametrize(
    ("target", "error"),
    [
        ("player.is_watched", 'ValueError("rtsp://u:s3cret@cam")'),
        ("player.Player.start", 'RuntimeError("can\'t start new thread")'),
        ("player.Player.report", 'KeyError("s3cret")'),
        ("player.Capture.open", 'MemoryError("s3cret")'),
        ("decoder.Decoder._handle", 'OSError(24, "s3cret")'),
        ("decoder.Decoder._handle", 'RuntimeError("can\'t start new thread")'),
        ("decoder.threading.Thread.start", 'RuntimeError("can\'t start new thread")'),
        ("decoder.encode_jpeg", 'MemoryError("s3cret")'),
        ("player.LivePlayback.run", 'AssertionError("s3cret")'),
    ],
)
async def test_a_camera_goes_on_after_any_fault_of_its_decoder(
    tmp_path: Path, http: HttpCamera, target: str, error: str, capfd: pytest.CaptureFixture[str]
) -> None:
    command = failing_once(tmp_path, target, error)
    async with Decoders(limits=QUICK, command=command) as decoders:
        stream = decoders.open(Camera("gate", http.url(), motion_threshold=0))
        await take(stream, 8)
    assert (tmp_path / "failed").exists()
    assert "s3cret" not in capfd.readouterr().err + stream.status.last_error


async def test_pictures_come_although_no_further_thread_can_be_started(http: HttpCamera) -> None:
    async with Decoders(limits=QUICK, command=(sys.executable, "-c", ONE_ENCODER)) as decoders:
        names = ("in", "out", "yard")
        streams = [decoders.open(Camera(name, http.url(), motion_threshold=0)) for name in names]
        pids = set()
        for _ in range(3):
            await asyncio.gather(*(take(stream, 2) for stream in streams))
            pids |= {group.pid for group in decoders.groups}
    assert len(pids) == 1


async def test_a_frame_of_a_file_that_cannot_be_encoded_does_not_stop_the_others(
    tmp_path: Path,
) -> None:
    clip = tmp_path / "clip.mp4"
    clip.write_bytes(encode(street(100)))
    command = failing_once(tmp_path, "decoder.encode_jpeg", "MemoryError()")
    async with Decoders(limits=QUICK, command=command) as decoders:
        stream = decoders.open(Camera("gate", str(clip), looks_per_s=5))
        count = len(await take_all(stream))
    assert count == 19
    assert (stream.status.state, stream.status.last_error) == ("ended", "a frame cannot be encoded")


@pytest.mark.parametrize(
    ("message", "error"),
    [
        pytest.param(b"\xff" * 8, "wanted at most", id="a length without sense"),
        pytest.param(b"\0\0\0\2\0\0\0\0[]", "TypeError", id="no object"),
        pytest.param(b"\0\0\0\2\0\0\0\0{}", "KeyError", id="no kind"),
        pytest.param(b"\0\0\0\1\0\0\0\0?", "JSONDecodeError", id="no JSON"),
        pytest.param(b'\0\0\0\x10\0\0\0\0{"kind":"frame"}', "KeyError", id="no frame"),
    ],
)
async def test_a_decoder_whose_messages_make_no_sense_is_started_again(
    message: bytes, error: str
) -> None:
    command = (sys.executable, "-c", CHATTER.format(message=message))
    async with Decoders(limits=QUICK, command=command) as decoders:
        stream = decoders.open(Camera("gate", "rtsp://127.0.0.1:9/1"))
        await wait(lambda: stream.status.reconnects >= 2, "another process")
        assert error in stream.status.last_error
