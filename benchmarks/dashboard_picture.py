"""A picture of the Grafana dashboard from a real server and a real Prometheus, without Grafana.

    python -m benchmarks.dashboard_picture --minutes 8 --out docs/dashboard.png

Starts `plates serve` and Prometheus with the project's rules, sends the server a day of a camera's
life in a few minutes, asks Prometheus each panel's own query, and draws the answers where Grafana
puts the panels. Needs `prometheus` (on Debian and Ubuntu, the package of that name).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import cv2

from benchmarks.dashboard_drawing import draw
from benchmarks.dashboard_panels import Span, answer, panels
from benchmarks.pictures import Picture, rendered
from benchmarks.scale_out.replicas import running
from orchestrator.client import PlateClient
from orchestrator.errors import PlateError, ServerError
from orchestrator.loopback import open_url
from orchestrator.server.ports import free_ports

RULES = Path(__file__).resolve().parents[1] / "deploy" / "monitoring" / "rules.yaml"
SCRAPE_S = 2
RATE_INTERVAL = "16s"
POINTS = 240
"""Of each line."""
START_TIMEOUT_S = 120
NO_PICTURE = b"no picture"


@dataclass(frozen=True)
class Phase:
    """A part of the load.

    Attributes:
        share: Of the whole time.
        callers: Calls at once.
        pause_s: Of each caller, on mean, after an answer.
        files: What is sent, each picture as likely as any other.
        has_crash: Whether the server is killed when it begins.
    """

    share: float
    callers: int
    pause_s: float
    files: tuple[bytes, ...]
    has_crash: bool = False


def phases() -> list[Phase]:
    """Return the life of a camera: a usual day, and what its operator should notice."""
    cars = [rendered(plates) for plates in range(1, 7)]
    near = tuple(_shrunk(picture, scale) for picture in cars for scale in (0.4, 0.6, 1.0))
    far = tuple(_shrunk(picture, scale) for picture in cars for scale in (0.16, 0.2, 0.25))
    empty = (rendered(0).encoded,)
    usual = (*near, *6 * empty)
    return [
        Phase(0.14, 2, 0.3, usual),
        Phase(0.12, 8, 0.0, usual),
        Phase(0.06, 2, 0.3, usual),
        Phase(0.21, 90, 0.0, usual),
        Phase(0.07, 2, 0.3, usual),
        Phase(0.09, 2, 0.2, (*usual, *6 * (NO_PICTURE,))),
        Phase(0.11, 2, 0.2, (*far, *6 * empty)),
        Phase(0.08, 2, 0.1, empty),
        Phase(0.12, 2, 0.3, usual, has_crash=True),
    ]


def _shrunk(picture: Picture, scale: float) -> bytes:
    small = cv2.resize(picture.bgr, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    return cv2.imencode(".jpg", small)[1].tobytes()


def send(phase: Phase, url: str, seconds: float) -> None:
    """Keep a phase's callers busy; what they are answered shows in the metrics."""
    end = time.monotonic() + seconds

    def call() -> None:
        chance = random.Random(threading.get_ident())
        with PlateClient(url, timeout_s=30) as client:
            while time.monotonic() < end:
                with contextlib.suppress(PlateError):
                    client.recognize(chance.choice(phase.files))
                time.sleep(max(0.02, phase.pause_s * 2 * chance.random()))

    callers = [threading.Thread(target=call) for _ in range(phase.callers)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()


def has_scraped(prometheus: str) -> bool:
    """Tell whether Prometheus has looked at the server once."""
    try:
        with open_url(f"{prometheus}/api/v1/query?query=up", timeout_s=2) as response:
            return bool(json.load(response)["data"]["result"])
    except OSError:
        return False


@contextlib.contextmanager
def watching(metrics_port: int) -> Iterator[str]:
    """Run Prometheus over the server's metrics with the project's rules; gives its URL.

    Raises:
        ServerError: There is no Prometheus, or it does not start.
    """
    program = shutil.which("prometheus")
    if not program:
        raise ServerError("prometheus: wanted it on the PATH, got none; install prometheus")
    (port,) = free_ports(1)
    url = f"http://127.0.0.1:{port}"
    target = {"targets": [f"localhost:{metrics_port}"]}
    config = {
        "global": {"scrape_interval": f"{SCRAPE_S}s", "evaluation_interval": f"{SCRAPE_S}s"},
        "rule_files": [str(RULES)],
        "scrape_configs": [{"job_name": "plates", "static_configs": [target]}],
    }
    with tempfile.TemporaryDirectory(prefix="prometheus-") as folder:
        file = Path(folder, "prometheus.yaml")
        file.write_text(json.dumps(config), encoding="utf-8")  # JSON is YAML, too
        line = [
            program, f"--config.file={file}", f"--storage.tsdb.path={folder}",
            f"--web.listen-address=127.0.0.1:{port}",
        ]  # fmt: skip
        with _up(line, url):
            yield url


@contextlib.contextmanager
def _up(line: list[str], url: str) -> Iterator[None]:
    """Run Prometheus for the length of a `with` block, which begins with its first scrape."""
    started = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + START_TIMEOUT_S
        while not has_scraped(url):
            if started.poll() is not None or time.monotonic() > deadline:
                raise ServerError("prometheus: wanted it to start, got no answer")
            time.sleep(0.2)
        yield
    finally:
        started.terminate()
        started.wait()


def crash(supervisor: int) -> None:
    """Kill the server that `plates serve` watches."""
    children = Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text().split()
    os.kill(int(children[0]), signal.SIGKILL)


def run(seconds: float, out: Path) -> None:
    """Drive the load, then draw what Prometheus saw of it."""
    planned = phases()
    cores = len(os.sched_getaffinity(0))
    with running(1, cores) as (server,), watching(server.options.metrics_port) as prometheus:
        start = time.time()
        for number, phase in enumerate(planned, start=1):
            print(f"phase {number} of {len(planned)}: {phase.share * seconds:.0f} s", flush=True)
            if phase.has_crash:
                crash(server.pid)
            send(phase, server.options.http_url, phase.share * seconds)
        end = time.time()
        span = Span(start + 2 * SCRAPE_S, end, (end - start) / POINTS, RATE_INTERVAL)
        shown = panels()
        found = {
            panel.title: [
                line for query in panel.queries for line in answer(prometheus, query, span)
            ]
            for panel in shown
        }
    draw(shown, found, out)
    print(f"{out}: {out.stat().st_size / 1000:.0f} kB")


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.dashboard_picture")
    parser.add_argument("--minutes", type=float, default=8.0, help="of load")
    parser.add_argument("--out", type=Path, default=Path("docs/dashboard.png"))
    arguments = parser.parse_args()
    try:
        run(60 * arguments.minutes, arguments.out)
    except PlateError as error:
        raise SystemExit(f"dashboard_picture: {error}") from error


if __name__ == "__main__":
    main()
