"""The command `plates watch` as a child process, with what it prints and its metrics."""

from __future__ import annotations

import os
import re
import signal
import subprocess
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
from workshop.benchmarks.camera_faults.programs import ROOT
from workshop.benchmarks.processes import find_tree, poll

END_LIMIT_S = END_S + 1.0
"""The promised time of the end after SIGTERM; the exit itself takes a moment."""
MAX_END_S = 60.0
"""Longest wait for the end of the command."""
DECODER = "plate_cameras.sources"
LINE = re.compile(r"^(plates_\w+(?:\{.*\})?) (\S+)$", re.M)
POLL_S = 0.5


@dataclass(frozen=True)
class Resources:
    """Resources that a process and its children hold.

    Attributes:
        descriptors: Open files of the process.
        memory_bytes: Its resident memory.
        processes: Number of processes, itself included.
    """

    descriptors: int
    threads: int
    memory_bytes: int
    processes: int


@dataclass
class WatchCommand:
    """A watcher.

    Attributes:
        file: The file of cameras.
        arguments: Options of the command.
        output: File for its standard output.
        errors: File for its standard error.
        environ: Variables beside those of this process.
        samples: Times and metrics since its first start.
    """

    file: Path
    arguments: Sequence[str]
    metrics_port: int
    output: Path
    errors: Path
    environ: Mapping[str, str] = field(default_factory=dict)
    samples: list[tuple[float, dict[str, float]]] = field(default_factory=list)
    _process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, from the folder of this module; it is not ready then."""
        with self.output.open("ab") as output, self.errors.open("ab") as errors:
            self._process = subprocess.Popen(
                self.command(), stdin=subprocess.DEVNULL, stdout=output, stderr=errors,
                cwd=ROOT, env=self.variables(),
            )  # fmt: skip

    def command(self) -> list[str]:
        """Return its command line."""
        plates = Path(sys.executable).with_name("plates")
        return [str(plates), "watch", str(self.file), *self.arguments]

    def variables(self) -> dict[str, str]:
        """Return its environment. It runs the code beside this module, whatever is installed."""
        return {**os.environ, "PYTHONPATH": str(ROOT), **self.environ}

    @property
    def pid(self) -> int:
        assert self._process
        return self._process.pid

    def is_running(self) -> bool:
        """Tell whether the process lives."""
        return self._process is not None and self._process.poll() is None

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        assert self._process
        self._process.send_signal(number)

    def stop(self, longest_s: float = MAX_END_S) -> tuple[int | None, float]:
        """Ask it to end. Return its exit status, None if it did not end, and the time it took."""
        began = time.monotonic()
        if self.is_running():
            self.send(signal.SIGTERM)
        status = self.wait(longest_s)
        return status, time.monotonic() - began

    def wait(self, longest_s: float = MAX_END_S) -> int | None:
        """Wait for its end; None if it does not end."""
        assert self._process
        with suppress(subprocess.TimeoutExpired):
            return self._process.wait(longest_s)
        return None

    def kill(self) -> None:
        """End it and its children at once."""
        if self._process:
            for pid in find_tree(self._process.pid):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self._process.wait()

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
    def polled(self) -> Iterator[None]:
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
