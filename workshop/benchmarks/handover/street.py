"""Cameras of a rendered street over HTTP, whose pictures tell which vehicle they show."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count

import cv2
import numpy as np

from orchestrator.plates import Plate, Plates
from workshop.benchmarks.handover.timetable import (
    BITS,
    BLOCK,
    CODE_PX,
    LIGHT,
    NOBODY,
    PLATE_WH,
    PLATE_Y,
    ROAD,
    SIZE_WH,
    Sight,
    Street,
)

FRAMES_PER_S, REPEATS = 25, 5
"""Frames a second, which FFmpeg takes for granted in MJPEG, and how often each picture is sent."""
BOUNDARY = "picture"


def render(sight: Sight) -> bytes:
    """Return a picture of a camera as a JPEG file."""
    picture = np.full((SIZE_WH[1], SIZE_WH[0], 3), ROAD, np.uint8)
    for bit in range(BITS):
        value = LIGHT if sight.code >> bit & 1 else 0
        picture[:CODE_PX, bit * BLOCK : (bit + 1) * BLOCK] = value
    if sight.vehicle != NOBODY:
        width, height = PLATE_WH
        plate = picture[PLATE_Y : PLATE_Y + height, sight.x : sight.x + width]
        plate[:, ::8] = plate[:, 1::8] = LIGHT
    return cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, 90])[1].tobytes()


def read_picture(jpeg: bytes) -> Sight:
    """Return what a picture shows, as its upper edge tells it."""
    picture = cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_GRAYSCALE)
    blocks = picture[4:12, : BITS * BLOCK].reshape(8, BITS, BLOCK)[:, :, 2:6].mean(axis=(0, 2))
    return Sight.of(sum(1 << bit for bit in range(BITS) if blocks[bit] > 128))


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
                        jpeg = render(street.look(camera, time.time()))
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
