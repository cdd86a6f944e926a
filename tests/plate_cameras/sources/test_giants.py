"""Cameras with very large frames, or whose decoder ends: other cameras continue."""

import asyncio
import itertools
import re
import socket
import sys
import threading
import time
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

import av
import cv2
import numpy as np
import pytest

from plate_cameras.configuration import Camera
from plate_cameras.sources.capture import Capture
from plate_cameras.sources.children import COMMAND
from plate_cameras.sources.decoders import Decoders
from plate_cameras.sources.network.addresses import parse_address
from plate_cameras.sources.status import Limits
from tests.child_python import run_python
from tests.plate_cameras.clips import claim_size, street
from tests.plate_cameras.servers import HttpCamera
from tests.plate_cameras.streams import take, wait

pytestmark = pytest.mark.server
QUICK = Limits(
    open_s=3.0, read_s=3.0, hang_s=8.0, first_pause_s=0.1, max_pause_s=0.5, rest_look_s=0.5
)
PART = b"--b\r\nContent-Type: image/jpeg\r\nContent-Length: %d\r\n\r\n"
START = b"HTTP/1.0 200 OK\r\nContent-Type: multipart/x-mixed-replace; boundary=b\r\n\r\n"
RAW = b"HTTP/1.0 200 OK\r\nContent-Type: video/h264\r\n\r\n"
PICTURE = b"HTTP/1.0 200 OK\r\nContent-Type: image/jpeg\r\n\r\n"
CLIP = b"HTTP/1.0 200 OK\r\n\r\n\0\0\0\x18ftypisom\0\0\2\0isommp41"
SIZES = b"\0\0\0\1moov" + (1 << 40).to_bytes(8, "big")
for box in (b"trak", b"mdia", b"minf", b"stbl", b"stsz"):
    SIZES += b"\0\0\0\1" + box + (1 << 39).to_bytes(8, "big")
SIZES += bytes(8) + b"\x7f\xff\xff\xff"
STREAM = RAW.replace(b"video/h264", b"video/mp2t")
PES = b"".join(
    b"\x47\1\0"
    + bytes([0x10 | at % 16])
    + b"\0\0\1\xe0\0\0\x80\0\0" * (not at)
    + b"x" * (184 - 9 * (not at))
    for at in range(16 * 300)
)
MATROSKA = b"\x1a\x45\xdf\xa3\x88\x42\x82\x85matro\x18\x53\x80\x67\1" + b"\xff" * 7
MATROSKA += b"\x1f\x43\xb6\x75\1\0\0\0\x7f\0\0\0"
STREET = street(10)
SMALL_MB = 200


def jpeg(side: int = 0, seed: int = 1) -> bytes:
    """Return a JPEG of 320x180; its header gives another side if one is given."""
    picture = np.random.default_rng(seed).integers(0, 255, (180, 320, 3), np.uint8)
    content = cv2.imencode(".jpg", picture)[1].tobytes()
    return claim_size(content, side, side) if side else content


def write_golomb(*values: int) -> str:
    return "".join(f"{value + 1:b}".zfill(2 * (value + 1).bit_length() - 1) for value in values)


def h264(side: int) -> bytes:
    """Return the beginning of a stream of empty frames with this side."""
    blocks = side // 16 - 1
    sps = write_golomb(0, 0, 2, 1) + "0" + write_golomb(blocks, blocks) + "110" + "01"
    units = [b"\x67\x42\x00\x33" + to_bytes(sps), b"\x68" + to_bytes("11" + "1" * 5 + "001111")]
    units += [b"\x65" + to_bytes(write_golomb(0, 7, 0) + "0" * 4 + "1" * 20)] * 50
    return b"".join(b"\0\0\0\1" + unit for unit in units)


def to_bytes(bits: str) -> bytes:
    bits += "1"
    bits += "0" * (-len(bits) % 8)
    return int(bits, 2).to_bytes(len(bits) // 8, "big")


JPEG_8000 = cv2.imencode(".jpg", np.zeros((8000, 8000), np.uint8))[1].tobytes()


class Sender:
    """Sends each client the same bytes, again and again."""

    def __init__(self, start: bytes, *contents: bytes, pause_s: float = 0.0) -> None:
        self.start, self.contents, self.pause_s = start, contents, pause_s
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}/video"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        with suppress(OSError):
            while True:
                threading.Thread(
                    target=self.talk, args=(self.listener.accept()[0],), daemon=True
                ).start()

    def talk(self, connection: socket.socket) -> None:
        with suppress(OSError), connection:
            connection.recv(65536)
            connection.sendall(self.start)
            for content in itertools.cycle(self.contents):
                connection.sendall(content)
                time.sleep(self.pause_s)


def peak_mb(pid: int | None) -> int:
    match = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    assert match
    return int(match[1]) >> 10


def decoders(megabytes: int = SMALL_MB) -> Decoders:
    return Decoders(limits=QUICK, command=(*COMMAND, str(megabytes)))


@pytest.mark.parametrize(
    ("start", "content", "error"),
    [
        pytest.param(START, PART % len(jpeg(30000)) + jpeg(30000), "larger than 50", id="JPEG"),
        pytest.param(START, PART % len(JPEG_8000) + JPEG_8000, "got 8000x8000", id="all of a JPEG"),
        pytest.param(RAW, h264(7200), "got 7200x7200", id="H.264"),
        pytest.param(START + PART % 10**10, bytes(1 << 20), "", id="a part of 10 GB"),
        pytest.param(START + PART % (4 * 10**9), bytes(1 << 20), "", id="a part of 4 GB"),
        pytest.param(START + b"--b\r\n\r\n", b"x" * (1 << 20), "", id="no length"),
        pytest.param(PICTURE + jpeg()[:-2], b"x" * (1 << 20), "", id="a picture without end"),
        pytest.param(CLIP + b"\xff\xff\xff\xffmoov", b"\0" * (1 << 20), "", id="an MP4 index"),
        pytest.param(CLIP + SIZES, b"\0\0\0\1" * (1 << 18), "", id="an MP4 table"),
        pytest.param(STREAM, PES, "", id="a transport stream"),
        pytest.param(b"HTTP/1.0 200 OK\r\n\r\n" + MATROSKA, b"x" * (1 << 20), "", id="Matroska"),
        pytest.param(START + b"--b\r\n", b"x-more: 1\r\n" * 100_000, "", id="headers"),
        pytest.param(b"HTTP/1.0 200 OK\r\n", b"x-more: 1\r\n" * 100_000, "", id="HTTP headers"),
        pytest.param(b"HTTP/1.0 200 OK\r\nx-long: ", b"x" * (1 << 20), "", id="one header"),
    ],
)  # fmt: skip
async def test_what_a_camera_announces_takes_little_memory_and_others_go_on(
    http: HttpCamera, start: bytes, content: bytes, error: str
) -> None:
    async with decoders() as group:
        well = group.open(Camera("well", http.url()))
        await take(well, 1)
        giant = group.open(Camera("giant", Sender(start, content).url))
        await wait(lambda: giant.status.last_error, "an error of the giant")
        await take(well, 3)
        peak = max(peak_mb(decoder.pid) for decoder in group.groups if decoder.pid)
    assert error in giant.status.last_error
    assert peak < SMALL_MB + 200
    assert giant.status.sent == 0


async def test_a_frame_that_becomes_a_giant_is_left_out() -> None:
    frames = [jpeg(), jpeg(30000), jpeg(seed=2), jpeg(16000)]
    parts = [PART % len(frame) + frame + b"\r\n" for frame in frames]
    async with decoders() as group:
        stream = group.open(Camera("gate", Sender(START, *parts, pause_s=0.2).url))
        looks = await take(stream, 3)
        assert {look.size_wh for look in looks} == {(320, 180)}
        peak = peak_mb(group.groups[0].pid)
    assert peak < SMALL_MB + 200
    assert stream.status.deaths == 0


def test_a_stream_that_becomes_a_giant_gives_no_such_frame(tmp_path: Path) -> None:
    encoder = av.CodecContext.create("libx264", "w")
    encoder.width, encoder.height, encoder.pix_fmt = 320, 180, "yuv420p"
    encoder.time_base = Fraction(1, 25)
    frames = [
        av.VideoFrame.from_ndarray(picture, "bgr24").reformat(format="yuv420p")
        for picture in STREET
    ]
    small = b"".join(bytes(packet) for frame in [*frames, None] for packet in encoder.encode(frame))
    file = tmp_path / "clip.h264"
    file.write_bytes(small + h264(7200) + small)
    sizes = set()
    with Capture.open(parse_address(str(file), QUICK), QUICK) as capture:
        for packet in capture.packets():
            with suppress(av.FFmpegError):
                sizes |= {(frame.width, frame.height) for frame in capture.decode(packet)}
    assert sizes == {(320, 180)}


def test_a_decoder_may_take_no_more_than_its_memory() -> None:
    code = (
        "from plate_cameras.sources.__main__ import limit_memory as limit; limit(50 << 20)\n"
        "bytearray(20 << 20)\n"
        "try: bytearray(100 << 20)\n"
        "except MemoryError: print('refused')"
    )
    process = run_python(code)
    assert process.stdout == "refused\n"


DEADLY = """
import os, sys
from plate_cameras.sources import player
from plate_cameras.sources.__main__ import main
play = player.Player._attempt
player.Player._attempt = lambda self: os.abort() if self.name == "evil" else play(self)
main()
"""


async def test_a_camera_that_ends_its_decoder_gets_one_of_its_own(
    http: HttpCamera, tmp_path: Path
) -> None:
    script = tmp_path / "deadly.py"
    script.write_text(DEADLY)
    limits = Limits(first_pause_s=0.1, max_pause_s=5.0, rest_look_s=0.5)
    async with Decoders(limits=limits, command=(sys.executable, str(script))) as group:
        well = [group.open(Camera(name, http.url())) for name in ("a", "b")]
        await asyncio.gather(*(take(stream, 1) for stream in well))
        evil = group.open(Camera("evil", http.url()))
        await wait(lambda: evil.status.deaths >= 3, "ends of the decoder")
        await asyncio.gather(*(take(stream, 1) for stream in well))
        deaths, sent_before = [stream.status.deaths for stream in well], well[0].status.sent
        assert deaths == [2, 2]
        await wait(lambda: evil.status.deaths >= 5, "more ends of the decoder")
        await take(well[0], 1)
        assert [stream.status.deaths for stream in well] == deaths
        assert well[0].status.sent > sent_before
        apart = [len(decoder.streams) for decoder in group.groups if decoder.streams]
        assert apart == [1, 1, 1]
        later = group.open(Camera("later", http.url()))
        assert [later] in [[*decoder.streams.values()] for decoder in group.groups]
    assert evil.status.last_error == "a decoder has ended. It is started again"
