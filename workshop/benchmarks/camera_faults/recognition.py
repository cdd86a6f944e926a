"""A stand-in for the recognition service: KServe over HTTP, which reads every plate rightly.

    python -m workshop.benchmarks.camera_faults.recognition PORT LOOKS

Every answer is a line in the file LOOKS: its time by the monotonic clock, the camera, the vehicle.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from orchestrator.client.inference import HEADER
from orchestrator.client.supervision import corners_of
from orchestrator.contract import MODEL, to_arrays
from orchestrator.plates import Plate, Plates
from workshop.benchmarks.camera_faults.timetable import (
    BITS,
    BLOCK,
    NOBODY,
    PLATE_WH,
    PLATE_Y,
    Sight,
)

AT_ONCE = 4
CONFIG = {"name": MODEL, "instance_group": [{"count": AT_ONCE}]}
LENGTH_BYTES = 4
"""The length of a text before its bytes, in a binary tensor."""


class Handler(BaseHTTPRequestHandler):
    """Answers one connection."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer(CONFIG)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        sight = read_picture(body[int(self.headers[HEADER]) + LENGTH_BYTES :])
        self._answer(describe_plates(to_plates(sight)))
        line = f"{time.monotonic():.3f} {sight.camera} {sight.vehicle}\n"
        self.server.looks.write(line.encode())  # type: ignore[attr-defined]

    def log_message(self, *_: object) -> None:
        """Write no log."""

    def _answer(self, document: dict[str, Any]) -> None:
        body = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class StandIn(ThreadingHTTPServer):
    """The server."""

    daemon_threads, request_queue_size = True, 64

    def __init__(self, port: int, looks: str) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.looks = Path(looks).open("ab", buffering=0)  # noqa: SIM115  # as long as the process


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


def describe_plates(plates: Plates) -> dict[str, Any]:
    """Return an answer of KServe with all outputs, as JSON."""
    outputs = []
    plates_with_corners = Plates(
        tuple(replace(plate, corners=corners_of(plate)) for plate in plates)
    )
    for name, array in to_arrays(plates_with_corners).items():
        is_text = array.dtype.kind == "O"
        values = [value.decode() if is_text else float(value) for value in array.ravel()]
        kind = "BYTES" if is_text else "FP32"
        output = {"name": name, "datatype": kind, "shape": [*array.shape], "data": values}
        outputs.append(output)
    return {"model_name": MODEL, "model_version": "1", "outputs": outputs}


if __name__ == "__main__":
    StandIn(int(sys.argv[1]), sys.argv[2]).serve_forever()
