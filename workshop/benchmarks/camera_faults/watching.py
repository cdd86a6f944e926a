"""The command `plates watch` as a child process, with what it prints and its metrics."""

from __future__ import annotations

import os
import re
import signal
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path

import psutil

from plate_cameras.service.ending import END_S
from workshop.benchmarks.camera_faults.programs import MAX_END_S, ROOT, ChildProcess
from workshop.benchmarks.processes import find_tree, poll

END_LIMIT_S = END_S + 1.0
"""The promised time of the end after SIGTERM; the exit itself takes a moment."""
DECODER = "plate_cameras.sources"
LINE = re.compile(r"^(plates_\w+(?:\{.*\})?) (\S+)$", re.M)
POLL_S = 0.5


@dataclass(frozen=True)
class Resources:
    """Resources that a process and its children hold.

    Attributes:
        descriptors: Open files of the process.
        memory_bytes: Its resident memory.
    """

    descriptors: int
    threads: int
    memory_bytes: int
    processes: int


@dataclass
class WatchCommand(ChildProcess):
    """A watcher."""

    file: Path
    arguments: Sequence[str]
    metrics_port: int
    output: Path
    errors: Path
    environ: Mapping[str, str] = field(default_factory=dict)
    samples: list[tuple[float, dict[str, float]]] = field(default_factory=list)

    def start(self) -> None:
        """Start it; it is not ready then."""
        self.launch(self.command(), self.output, self.errors, self.variables())

    def command(self) -> list[str]:
        """Return its command line."""
        plates = Path(sys.executable).with_name("plates")
        return [str(plates), "watch", str(self.file), *self.arguments]

    def variables(self) -> dict[str, str]:
        """Return its environment. It runs the code beside this module, whatever is installed."""
        return {**os.environ, "PYTHONPATH": str(ROOT), **self.environ}

    def stop(self, longest_s: float = MAX_END_S) -> tuple[int | None, float]:
        """Ask it to end. Return its exit status, None if it did not end, and the time it took."""
        began = time.monotonic()
        if self.is_running():
            self.send(signal.SIGTERM)
        status = self.wait(longest_s)
        return status, time.monotonic() - began

    def find_decoders(self) -> list[int]:
        """Return its processes that decode."""
        return [pid for pid in find_tree(self.pid) if DECODER in _command_of(pid)]

    def read_errors(self) -> str:
        """Return what it has printed on its standard error, over all starts."""
        return self.errors.read_text(encoding="utf-8", errors="replace")

    def measure(self) -> Resources:
        """Return what it holds now."""
        process = psutil.Process(self.pid)
        memory = process.memory_info().rss
        threads = process.num_threads()
        return Resources(process.num_fds(), threads, memory, len(find_tree(self.pid)))

    @contextmanager
    def poll_metrics(self) -> Iterator[None]:
        """Read its metrics now and then, for the length of a `with` block."""

        def look() -> None:
            with suppress(OSError, ValueError, HTTPException):
                self.samples.append((time.monotonic(), read_metrics(self.metrics_port)))

        with poll(look, POLL_S):
            yield


def read_metrics(port: int) -> dict[str, float]:
    """Return the metrics of a watcher by their names and labels."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=2) as answer:
        return {name: float(value) for name, value in LINE.findall(answer.read().decode())}


def _command_of(pid: int) -> Sequence[str]:
    with suppress(psutil.Error):
        return psutil.Process(pid).cmdline()
    return ()
