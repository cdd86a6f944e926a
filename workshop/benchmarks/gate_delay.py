"""The command `python -m workshop.benchmarks.gate_delay`: from the first frame to the relay.

Rendered streets are played as a live stream, one after the other, with an empty road between them.
`plates watch` follows the stream, and opens a gate over HTTP. Both ends are in this process, so the
delay needs no other clock: it runs from the moment at which the first frame with the plate is sent
to the moment at which the relay gets its request.
"""

from __future__ import annotations

import itertools
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Annotated

import cv2
import numpy as np
import typer

from orchestrator.imaging.files import Bgr
from plate_cameras.configuration import read_configuration
from plate_cameras.store.factory import open_store
from workshop.rendering.scenery import scene

RATE = 25.0
NOISES = 5
STARTING_S = 30.0
"""Time in which the command and its service start."""
SHOWN_S, EMPTY_S = 3.0, 5.0
"""Time of each street, and of the empty road; after 3 s without a plate, a pass has ended."""
CONFIGURATION = """
[[cameras]]
name = "gate"
url = "http://127.0.0.1:{port}/video"

[[gates]]
name = "north"
type = "http"
url = "http://127.0.0.1:{port}/open"
cameras = ["gate"]
lists = ["residents"]
open_s = 0
options = {{ body = '{{"plate": "$text"}}' }}
"""


@dataclass
class Street:
    """The pictures of the stream now, and the times of all that happened.

    Attributes:
        shown: Text of the plate, `""` for none, and its JPEG files with different noise, sent in
            turn.
        sent_s: Times at which the first frame of each text was sent.
        opened_s: Times at which the relay was asked for each text.
    """

    shown: tuple[str, list[bytes]]
    sent_s: dict[str, float] = field(default_factory=dict)
    opened_s: dict[str, float] = field(default_factory=dict)

    def frames(self) -> Iterator[bytes]:
        """Yield the parts of an MJPEG stream, in real time."""
        for number in itertools.count():
            text, jpegs = self.shown
            jpeg = jpegs[number % NOISES]
            if text:
                self.sent_s.setdefault(text, time.monotonic())
            yield b"--p\r\nContent-Type: image/jpeg\r\nContent-Length: %d\r\n\r\n" % len(jpeg)
            yield jpeg + b"\r\n"
            time.sleep(1 / RATE)


@contextmanager
def serve(street: Street) -> Iterator[int]:
    """Serve the stream and the relay; yield the port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "multipart/x-mixed-replace; boundary=p")
            self.end_headers()
            with suppress(OSError):
                for part in street.frames():
                    self.wfile.write(part)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            street.opened_s.setdefault(body.split('"')[3], time.monotonic())
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Write no log."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads, server.block_on_close = True, False
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield int(server.server_address[1])
        server.shutdown()


def main(
    passes: Annotated[int, typer.Option(help="Vehicles to play.")] = 40,
    url: Annotated[str | None, typer.Option(help="A service that runs.")] = None,
) -> None:
    """Measure the delay from the first readable frame to the relay."""
    rng = np.random.default_rng(3)
    texts = [f"A{number:03d}BC77" for number in rng.permutation(np.arange(100, 999))[:passes]]
    street = Street(("", with_noise(np.full_like(scene([texts[0]], seed=1).picture, 90))))
    with serve(street) as port, tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "CAMERAS.toml"
        file.write_text(CONFIGURATION.format(port=port))
        with closing(open_store(read_configuration(file).store, file.parent)) as store:
            store.lists.create("residents")
            store.lists.import_csv("residents", "\n".join(["text", *texts]))
        command = [str(Path(sys.executable).with_name("plates")), "watch", str(file), "-q"]
        watching = subprocess.Popen([*command, *(["--url", url] if url else [])])
        try:
            play(street, texts)
        finally:
            watching.send_signal(signal.SIGINT)
            watching.wait(60)
    delays = sorted(at - street.sent_s[text] for text, at in street.opened_s.items())
    print(f"opened for {len(delays)} of {passes} vehicles")
    if delays:
        median, most = np.percentile(delays, [50, 99])
        print(f"delay: median {median:.2f} s, p99 {most:.2f} s, greatest {delays[-1]:.2f} s")


def play(street: Street, texts: list[str]) -> None:
    """Show each vehicle for some seconds, with an empty road before it."""
    empty = street.shown
    for number, text in enumerate(texts):
        pictures = with_noise(scene([text], seed=number).picture)
        street.shown = empty
        time.sleep(EMPTY_S if number else EMPTY_S + STARTING_S)
        street.shown = text, pictures
        time.sleep(SHOWN_S)


def with_noise(picture: Bgr) -> list[bytes]:
    """Return JPEG files of a picture, each with other noise. Made before they are sent."""
    rng = np.random.default_rng(1)
    noisy = [picture + rng.normal(0, 2, picture.shape) for _ in range(NOISES)]
    return [cv2.imencode(".jpg", one.clip(0, 255).astype(np.uint8))[1].tobytes() for one in noisy]


if __name__ == "__main__":
    typer.run(main)
