"""`plates watch` opens a gate, with a real server, stream, database and HTTP relay."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import numpy as np
import pytest

from orchestrator.serving.supervisor.triton_server import Server
from plate_cameras.configuration import read_configuration
from plate_cameras.store.factory import open_store
from plate_cameras.store.lists.list_lookup import ListEntry
from tests.http_servers import QuietHandler, running_http
from tests.plate_cameras.servers import http_camera
from tests.waiting import until
from workshop.rendering.scenery import Scene, scene

PLATES = str(Path(sys.executable).with_name("plates"))
CONFIGURATION = """
[[cameras]]
name = "gate"
url = "{camera}"
motion_threshold = 0

[[gates]]
name = "north"
type = "http"
url = "http://127.0.0.1:{relay}/open"
cameras = ["gate"]
lists = ["residents"]
options = {{ body = '{{"plate": "$text"}}' }}
"""


@contextmanager
def http_relay() -> Iterator[tuple[int, list[bytes]]]:
    """Serve an HTTP relay; yield its port and the bodies that it received."""
    bodies: list[bytes] = []

    class RelayHandler(QuietHandler, BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(204)
            self.end_headers()

    with running_http(RelayHandler) as server:
        yield server.server_port, bodies


@pytest.fixture(scope="module")
def street() -> Scene:
    return scene(["A123BC77", "M456OP199"], (640, 480), seed=2)


def test_a_listed_vehicle_opens_the_gate_and_a_stranger_does_not(
    server: Server, street: Scene, tmp_path: Path
) -> None:
    rng = np.random.default_rng(5)
    shape = street.picture.shape
    frames = [
        (street.picture + rng.normal(0, 2, shape)).clip(0, 255).astype(np.uint8) for _ in range(9)
    ]
    file = tmp_path / "CAMERAS.toml"
    with http_camera(frames) as camera, http_relay() as (relay, bodies):
        file.write_text(CONFIGURATION.format(camera=camera.url(), relay=relay))
        with closing(open_store(read_configuration(file).store, tmp_path)) as store:
            store.lists.create("residents")
            store.lists.put("residents", [ListEntry("A123BC77")])
        process = subprocess.Popen(
            [PLATES, "watch", str(file), "--url", server.options.http_url],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            until(lambda: bodies, "a request to the relay")
        finally:
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert bodies == [b'{"plate": "A123BC77"}']
    assert "gate north: opened for A123BC77 (residents)" in errors
    with closing(sqlite3.connect(tmp_path / "passes.db")) as database:
        rows = database.execute("SELECT gate, text, outcome, delay_s FROM gate_openings").fetchall()
    assert [row[:3] for row in rows] == [("north", "A123BC77", "opened")]
    assert 0 < rows[0][3] < 60
