"""Cameras of a rendered street over HTTP, whose pictures tell which vehicle they show."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count

import cv2
import numpy as np

from orchestrator.plates import Plate, Plates

SIZE_WH = (320, 136)
FRAMES_PER_S, REPEATS = 25, 5
"""Frames a second, which FFmpeg takes for granted in MJPEG, and how often each picture is sent."""
BOUNDARY = "picture"
STAYS_S = (4.0, 4.0, 20.0, 4.0)
"""Times for which vehicles can be seen, in turn; some stand there when the camera changes hands."""
PAUSE_S = 5.0
LETTERS = "ABEKMHOPCTYX"
BITS, BLOCK = 27, 8
"""The picture's upper edge tells camera (7), vehicle (12) and x (8) in blocks."""
NOBODY = 0xFFF
"""Number of a vehicle that is not there."""
PLATE_Y, PLATE_WH = 80, (80, 18)


@dataclass(frozen=True)
class Sight:
    """The content of a picture.

    Attributes:
        camera: Number of the camera.
        vehicle: Number of the vehicle.
        x: Left side of its plate, pixels.
    """

    camera: int
    vehicle: int
    x: int

    @property
    def text(self) -> str:
        """Text of the plate, which no other vehicle has; the next one's differs much."""
        first, last = LETTERS[self.vehicle % 12], LETTERS[self.vehicle * 5 % 12]
        return f"{first}{self.vehicle * 367 % 1000:03d}{last}C{self.camera + 1:02d}"


@dataclass
class Street:
    """All cameras. Each shows one vehicle after the other.

    Attributes:
        cameras: Number of cameras.
        started_s: Unix time of the start.
    """

    cameras: int
    started_s: float = field(default_factory=time.time)

    def look(self, camera: int, now_s: float) -> Sight | None:
        """Return what a camera sees."""
        for sight, start_s, end_s in self.vehicles(camera, now_s):
            if start_s <= now_s < end_s:
                part = (now_s - start_s) / (end_s - start_s)
                return Sight(camera, sight.vehicle, 20 + round(part * 200))
        return None

    def vehicles(self, camera: int, until_s: float) -> Iterator[tuple[Sight, float, float]]:
        """Yield the vehicles of a camera with the Unix times of their start and end."""
        at_s, number = self.started_s + 1.7 * camera % 9, 0
        while at_s < until_s:
            stay_s = STAYS_S[(number + camera) % len(STAYS_S)]
            yield Sight(camera, number, 20), at_s, at_s + stay_s
            at_s, number = at_s + stay_s + PAUSE_S, number + 1

    def render(self, camera: int, now_s: float) -> bytes:
        """Return a picture of a camera as a JPEG file."""
        picture = np.full((SIZE_WH[1], SIZE_WH[0], 3), 96, np.uint8)
        sight = self.look(camera, now_s) or Sight(camera, NOBODY, 0)
        code = sight.camera << 20 | sight.vehicle << 8 | sight.x
        for bit in range(BITS):
            value = 255 if code >> bit & 1 else 0
            picture[:16, bit * BLOCK : (bit + 1) * BLOCK] = value
        if sight.vehicle != NOBODY:
            width, height = PLATE_WH
            plate = picture[PLATE_Y : PLATE_Y + height, sight.x : sight.x + width]
            plate[:, ::8] = plate[:, 1::8] = 255
        return cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, 90])[1].tobytes()


def read_picture(jpeg: bytes) -> Sight:
    """Return what a picture shows, as its upper edge tells it."""
    picture = cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_GRAYSCALE)
    blocks = picture[4:12, : BITS * BLOCK].reshape(8, BITS, BLOCK)[:, :, 2:6].mean(axis=(0, 2))
    code = sum(1 << bit for bit in range(BITS) if blocks[bit] > 128)
    return Sight(code >> 20 & 0x7F, code >> 8 & 0xFFF, code & 0xFF)


def to_plates(sight: Sight) -> Plates:
    """Return the answer of a service that reads every plate rightly."""
    if sight.vehicle == NOBODY:
        return Plates()
    width, height = PLATE_WH
    box = (float(sight.x), float(PLATE_Y), float(sight.x + width), float(PLATE_Y + height))
    best = ((sight.text, 0.97),)
    return Plates((Plate(box, 0.95, sight.text, 0.97, candidates=best, format="ru_car"),))


@contextmanager
def serve_street(street: Street) -> Iterator[int]:
    """Serve the cameras at `/0`, `/1` and so on; give the port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            camera = int(self.path.strip("/"))
            self.send_response(200)
            kind = f"multipart/x-mixed-replace; boundary={BOUNDARY}"
            self.send_header("Content-Type", kind)
            self.end_headers()
            with suppress(OSError):
                started = time.monotonic()
                for number in count():
                    if not number % REPEATS:
                        jpeg = street.render(camera, time.time())
                    self._send(jpeg)
                    due_s = started + (number + 1) / FRAMES_PER_S
                    time.sleep(max(0.0, due_s - time.monotonic()))

        def _send(self, jpeg: bytes) -> None:
            head = f"--{BOUNDARY}\r\nContent-Type: image/jpeg\r\nContent-Length: {len(jpeg)}"
            self.wfile.write(head.encode() + b"\r\n\r\n" + jpeg + b"\r\n")

        def log_message(self, *_: object) -> None:
            """Write no log."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads, server.block_on_close = True, False
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
