"""Snapshot cameras: one picture for each request."""

import hashlib
import socket
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from typing import ClassVar

import cv2
import pytest

from plate_cameras.clocks import steady_s
from plate_cameras.configuration import Camera
from plate_cameras.sources.decoders import Decoders
from plate_cameras.sources.network.addresses import address_of
from plate_cameras.sources.network.failures import SourceError
from plate_cameras.sources.snapshots import SnapshotCapture
from plate_cameras.sources.status import Limits
from tests.http_servers import QuietHandler
from tests.plate_cameras.clips import announce_png, street
from tests.plate_cameras.streams import take, wait

QUICK = Limits(first_pause_s=0.1, max_pause_s=0.5, rest_look_s=0.5, frozen_s=1.0)
USER, PASSWORD = "admin", "p@ss/w#rd?"
WRITTEN = "admin:p%40ss%2Fw%23rd%3F@"
REALM, NONCE = "camera", "7ypf"


@dataclass
class StillCamera:
    """A camera that sends its picture once for each request.

    Attributes:
        repeats: True if nothing changes.
        answer: Answers in place of the picture.
        requests: Steady times of the requests.
        now, most: Number of running requests, and the largest number at a time.
    """

    repeats: bool = False
    answer: Callable[[BaseHTTPRequestHandler], None] | None = None
    requests: list[float] = field(default_factory=list)
    now: int = 0
    most: int = 0
    port: int = 0
    others: ClassVar[dict[str, str]] = {"png": ".png", "webp": ".webp", "bmp": ".bmp"}

    def url(self, path: str = "picture", user: str = "") -> str:
        return f"http://{user}127.0.0.1:{self.port}/{path}"

    def picture(self, path: str) -> bytes:
        frames = street(100)
        index = 0 if self.repeats else len(self.requests) % len(frames)
        suffix = self.others.get(path.rpartition(".")[2], ".jpg")
        return cv2.imencode(suffix, frames[index])[1].tobytes()


class StillHandler(QuietHandler, BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    camera: StillCamera

    def do_GET(self) -> None:
        camera = self.camera
        camera.requests.append(steady_s())
        camera.now += 1
        camera.most = max(camera.most, camera.now)
        answer = camera.answer or send_picture
        try:
            answer(self)
        except OSError:
            self.close_connection = True
        finally:
            camera.now -= 1


def send(handler: BaseHTTPRequestHandler, status: int, body: bytes = b"", **headers: str) -> None:
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def send_picture(handler: StillHandler) -> None:
    send(handler, 200, handler.camera.picture(handler.path), Content_Type="image/jpeg")


def want_basic(handler: StillHandler) -> None:
    login = b64encode(f"{USER}:{PASSWORD}".encode()).decode()
    if handler.headers.get("Authorization") == f"Basic {login}":
        send_picture(handler)
    else:
        send(handler, 401, WWW_Authenticate=f'Basic realm="{REALM}"')


def want_digest(handler: StillHandler) -> None:
    header = handler.headers.get("Authorization", "")
    pairs = (part.strip().split("=", 1) for part in header.removeprefix("Digest ").split(","))
    fields = {name: value.strip('"') for name, value in (pair for pair in pairs if len(pair) == 2)}
    first = md5(f"{USER}:{REALM}:{PASSWORD}")
    second = md5(f"GET:{handler.path}")
    values = ":".join(fields.get(name, "") for name in ("nonce", "nc", "cnonce", "qop"))
    if fields.get("response") == md5(f"{first}:{values}:{second}"):
        send_picture(handler)
    else:
        challenge = f'Digest realm="{REALM}", nonce="{NONCE}", qop="auth"'
        send(handler, 401, WWW_Authenticate=challenge)


def md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


@pytest.fixture
def still() -> Iterator[StillCamera]:
    camera = StillCamera()
    handler = type("HandlerOfStill", (StillHandler,), {"camera": camera})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads, server.block_on_close = True, False
        camera.port = server.server_address[1]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield camera
        server.shutdown()


@pytest.mark.server
async def test_a_picture_is_requested_at_the_rate_of_looks(still: StillCamera) -> None:
    async with Decoders(limits=QUICK) as decoders:
        stream = decoders.open(Camera("gate", still.url(), looks_per_s=5))
        frames, status = await take(stream, 8), stream.status
    assert [frame.number for frame in frames] == sorted({frame.number for frame in frames})
    assert len(still.requests) <= 5 * (still.requests[-1] - still.requests[0]) + 3
    assert {(frame.clock, frame.size_wh) for frame in frames} == {("wall", (320, 180))}
    assert still.most == 1
    assert (status.state, status.reconnects) == ("playing", 0)


def take_one(still: StillCamera, path: str = "picture", user: str = "") -> list[int]:
    """Return the widths of the frames of one picture."""
    address = address_of(Camera("gate", still.url(path, user)), QUICK)
    with SnapshotCapture(address, 10, 5.0) as capture:
        packet = next(capture.packets())
        widths = [frame.width for frame in capture.decode(packet)]
        assert [frame.width for frame in capture.decode_alone(packet)] == widths
        return widths


@pytest.mark.parametrize("path", ["picture.png", "picture.webp", "picture.bmp"])
def test_pictures_of_other_formats_are_decoded(still: StillCamera, path: str) -> None:
    assert take_one(still, path) == [320]


@pytest.mark.server
async def test_a_camera_that_rests_or_fails_is_told_and_requested_again(still: StillCamera) -> None:
    async with Decoders(limits=QUICK) as decoders:
        stream = decoders.open(Camera("gate", still.url(), looks_per_s=10))
        await take(stream, 1)
        still.repeats = True
        await wait(lambda: stream.status.state == "frozen", "a frozen picture")
        still.repeats = False
        await take(stream, 2)
        await wait(lambda: stream.status.state == "playing", "a picture that changes")
        still.answer = answer_with(503)
        await wait(lambda: stream.status.reconnects >= 2, "attempts")
        assert stream.status.state in ("waiting", "connecting")
        assert "the server reports an error of its own" in stream.status.last_error
        still.answer = None
        await take(stream, 2)


@pytest.mark.parametrize("answer", [want_basic, want_digest])
def test_logins_with_any_password_work(
    still: StillCamera, answer: Callable[[StillHandler], None], capfd: pytest.CaptureFixture[str]
) -> None:
    still.answer = answer
    assert take_one(still, user=WRITTEN) == [320]
    assert PASSWORD not in capfd.readouterr().err


def fail(
    still: StillCamera,
    answer: Callable[[StillHandler], None],
    user: str = WRITTEN,
    timeout_s: float = 5.0,
) -> str:
    """Return the error of a request."""
    still.answer = answer
    address = address_of(Camera("gate", still.url("picture?token=s3cret", user)), QUICK)
    with (
        SnapshotCapture(address, 10, timeout_s) as capture,
        pytest.raises(SourceError) as failure,
    ):
        [*islice(capture.packets(), 3)]
    message = str(failure.value)
    assert f" http://127.0.0.1:{still.port}: " in message
    assert "s3cret" not in message
    assert "p@ss" not in message
    assert "p%40ss" not in message
    return message


def drip(handler: StillHandler) -> None:
    """Send one byte of the headers again and again."""
    for byte in b"HTTP/1.1 200 OK\r\nX-Slow: " + b"x" * 1000:
        handler.wfile.write(bytes([byte]))
        time.sleep(0.05)


def send_much(handler: StillHandler) -> None:
    handler.send_response(200)
    handler.end_headers()
    for _ in range(40):
        handler.wfile.write(bytes(1_000_000))


def answer_with(status: int, body: bytes = b"", **headers: str) -> Callable[[StillHandler], None]:
    return lambda handler: send(handler, status, body, **headers)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        pytest.param(answer_with(401), "user name or password are wrong", id="401"),
        pytest.param(answer_with(403), "access is denied", id="403"),
        pytest.param(answer_with(404), "there is no such stream", id="404"),
        pytest.param(answer_with(500), "the server reports an error", id="500"),
        pytest.param(answer_with(204), "it answers with 204", id="no content"),
        pytest.param(answer_with(200), "the data are no video", id="nothing"),
        pytest.param(answer_with(200, b"<html>" * 99), "the data are no video", id="page"),
        pytest.param(drip, "no data came in time", id="slow"),
        pytest.param(send_much, "at most 20 MB", id="much"),
        pytest.param(
            answer_with(200, announce_png(7200, 7200)), "at most 50 million pixels", id="large"
        ),
        pytest.param(
            lambda handler: handler.wfile.write(b"hello\r\n\r\n"), "no HTTP", id="no HTTP"
        ),
        pytest.param(
            lambda handler: handler.connection.shutdown(socket.SHUT_RDWR),
            "closed by the other side",
            id="closed",
        ),
        pytest.param(
            answer_with(302, Location="/again?token=s3cret"), "again and again", id="circle"
        ),
        pytest.param(
            answer_with(302, Location="http://u:s3cret@evil.example/s3cret"),
            "redirects to http://evil.example, another host",
            id="another host",
        ),
        pytest.param(answer_with(302, Location="file:///etc/passwd"), "another host", id="a file"),
    ],
)
def test_an_answer_that_is_no_picture_is_told(
    still: StillCamera, answer: Callable[[StillHandler], None], message: str
) -> None:
    assert message in fail(still, answer, timeout_s=0.5 if answer is drip else 5.0)


def test_a_redirect_on_the_same_host_is_followed(still: StillCamera) -> None:
    def redirect(handler: StillHandler) -> None:
        if handler.path == "/elsewhere":
            send_picture(handler)
        else:
            send(handler, 302, Location="/elsewhere")

    still.answer = redirect
    assert take_one(still) == [320]


def test_a_wrong_password_is_sent_once_a_request(still: StillCamera) -> None:
    assert "user name or password are wrong" in fail(still, want_basic, "admin:wrong@")
    assert len(still.requests) == 2
