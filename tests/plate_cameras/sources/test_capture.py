"""Error messages about sources that cannot be opened or read."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from plate_cameras.sources.capture import Capture
from plate_cameras.sources.network.addresses import parse_address
from plate_cameras.sources.network.failures import SourceError
from plate_cameras.sources.status import Limits
from tests.plate_cameras.clips import encode, street

LIMITS = Limits(open_s=0.5, read_s=0.5)


def fail_to_open(url: str) -> str:
    with pytest.raises(SourceError) as failure:
        Capture.open(parse_address(url, LIMITS), LIMITS)
    return str(failure.value)


@pytest.fixture
def silent() -> Iterator[int]:
    """The port of a server that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.mark.parametrize("scheme", ["rtsp", "http"])
def test_a_server_that_says_nothing_is_given_up_in_time(silent: int, scheme: str) -> None:
    error = fail_to_open(f"{scheme}://admin:s3cret@127.0.0.1:{silent}/1")
    assert error == f"cannot open {scheme}://127.0.0.1:{silent}: no data came in time"


def test_a_camera_that_is_off_refuses() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert "connection refused. Is the camera on" in fail_to_open(f"rtsp://127.0.0.1:{port}/1")


@pytest.mark.parametrize(
    ("url", "error"),
    [
        ("/dev/video99", "cannot open /dev/video99: there is no such file or device"),
        ("gopher9://cam/1", "cannot open gopher9://cam: this kind of address is not known"),
        ("udp://127.0.0.1:9", "cannot open udp://127.0.0.1:9: this kind of address is not known"),
        ("rtmp://127.0.0.1/x", "cannot open rtmp://127.0.0.1: this kind of address is not known"),
        ("tcp://127.0.0.1:9", "cannot open tcp://127.0.0.1:9: this kind of address is not known"),
        ("concat://a|b", "cannot open concat://a|b: this kind of address is not known"),
    ],
)
def test_what_is_not_there_is_told(url: str, error: str) -> None:
    assert fail_to_open(url) == error


def test_a_file_without_video_is_told(tmp_path: Path) -> None:
    sound = tmp_path / "sound.wav"
    head = b"RIFF\x24\x10\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00"
    sound.write_bytes(head + b"\x80\x3e\x00\x00\x02\x00\x10\x00data\x00\x10\x00\x00" + bytes(4096))
    assert fail_to_open(str(sound)) == "cannot open sound.wav: it has no video"


def test_a_key_frame_is_decoded_at_once_and_the_rest_after_it(tmp_path: Path) -> None:
    file = tmp_path / "clip.mp4"
    file.write_bytes(encode(street(30)))
    with Capture.open(parse_address(str(file), LIMITS), LIMITS) as capture:
        packets = capture.packets()
        key = next(packets)
        assert len(capture.decode_alone(key)) == 1
        assert len(capture.decode(key)) == 1  # as if it were new
        assert len(capture.decode(next(packets))) == 1
        assert capture.realtime_s is None
