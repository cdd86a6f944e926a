"""Fake cameras that tests may kill, stop and disturb: over RTSP (GStreamer) and over HTTP."""

import ssl
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import cv2
import numpy as np
import pytest

from tests.http_servers import QuietHandler
from workshop.benchmarks.camera_faults.gstreamer import MISSING, SYSTEM_PYTHON, is_installed

SCRIPT = Path(__file__).with_name("rtsp_server.py")
BOUNDARY = "picture"


def check_gstreamer() -> None:
    """Skip the test if Debian's packages are missing."""
    if not is_installed():
        pytest.skip(MISSING)


@dataclass
class RtspCamera:
    """A process that plays a folder of pictures over RTSP, 10 a second.

    Attributes:
        folder: The pictures.
        certificate: Files of a certificate and its key; without them it speaks no TLS.
        port: The port, 0 before the first start.
    """

    folder: Path
    certificate: tuple[Path, ...] = ()
    port: int = 0

    def start(self) -> None:
        self.process = subprocess.Popen(
            [SYSTEM_PYTHON, SCRIPT, self.folder, str(self.port), *self.certificate],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())

    def tell(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()

    @property
    def url(self) -> str:
        scheme = "rtsps" if self.certificate else "rtsp"
        return f"{scheme}://127.0.0.1:{self.port}/street"


@contextmanager
def rtsp_camera(folder: Path, *certificate: Path) -> Iterator[RtspCamera]:
    camera = RtspCamera(folder, certificate)
    camera.start()
    try:
        yield camera
    finally:
        camera.kill()


@dataclass
class HttpCamera:
    """A camera over HTTP that sends JPEG pictures in turn, and files.

    Attributes:
        frames: The pictures.
        rate: Pictures a second.
        repeats: True if the same picture is sent again and again.
        ends: True if every connection is closed after its next picture.
        connections: Number of connections so far.
        files: Bodies by path.
    """

    frames: Sequence[np.ndarray]
    rate: float = 25.0
    repeats: bool = False
    ends: bool = False
    connections: int = 0
    port: int = 0
    files: dict[str, bytes] = field(default_factory=dict)

    def url(self, path: str = "video", user: str = "") -> str:
        return f"http://{user}127.0.0.1:{self.port}/{path}"

    def parts(self) -> Iterator[bytes]:
        index = 0
        while True:
            index = index if self.repeats else (index + 1) % len(self.frames)
            jpeg = cv2.imencode(".jpg", self.frames[index])[1].tobytes()
            head = (
                f"--{BOUNDARY}\r\nContent-Type: image/jpeg\r\nContent-Length: {len(jpeg)}\r\n\r\n"
            )
            yield head.encode() + jpeg + b"\r\n"
            time.sleep(1 / self.rate)
            if self.ends:
                return


class PictureHandler(QuietHandler, BaseHTTPRequestHandler):
    """Answers with pictures, a file, or 401 for `private`."""

    camera: HttpCamera

    def do_GET(self) -> None:
        self.camera.connections += 1
        name = self.path.partition("?")[0].strip("/")
        if name == "private":
            self.send_error(401)
        elif name in self.camera.files:
            self._send_file(self.camera.files[name])
        else:
            self._send_pictures()

    def _send_file(self, body: bytes) -> None:
        """Send a file from the requested byte on: an MP4's index may be at its end."""
        start = int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").split("-")[0])
        self.send_response(206 if start else 200)
        self.send_header("Content-Type", "video/mp4")
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        self.send_header("Content-Length", str(len(body) - start))
        self.end_headers()
        with suppress(OSError):
            self.wfile.write(body[start:])

    def _send_pictures(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", f"multipart/x-mixed-replace; boundary={BOUNDARY}")
        self.end_headers()
        with suppress(OSError):
            for part in self.camera.parts():
                self.wfile.write(part)


@contextmanager
def http_camera(frames: Sequence[np.ndarray], *certificate: Path) -> Iterator[HttpCamera]:
    """Serve pictures, over TLS with the files of a certificate and its key."""
    camera = HttpCamera(frames)
    handler = type("HandlerOfCamera", (PictureHandler,), {"camera": camera})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads, server.block_on_close = True, False
        camera.port = server.server_address[1]
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield camera
        finally:
            server.shutdown()
