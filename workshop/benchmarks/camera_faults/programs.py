"""Programs around the watch, which are started, killed and stopped; the MQTT broker among them."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiomqtt

from workshop.benchmarks.faults.settings import CannotBeMadeError
from workshop.benchmarks.processes import find_tree

START_S = 30.0
MAX_END_S = 60.0
"""Longest wait for the end of a process."""
ROOT = Path(__file__).parents[3]


class ChildProcess:
    """A process that is started, sent signals, and killed with all below it."""

    _process: subprocess.Popen[bytes] | None = None

    def launch(
        self, command: Sequence[str | Path], output: Path, errors: Path, environ: Mapping[str, str]
    ) -> None:
        """Start it from the folder of this code; what it prints is added to the files."""
        with output.open("ab") as out, errors.open("ab") as err:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=ROOT,
                env={**os.environ, **environ},
            )  # fmt: skip

    @property
    def pid(self) -> int:
        assert self._process
        return self._process.pid

    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        assert self._process
        self._process.send_signal(number)

    def wait(self, longest_s: float = MAX_END_S) -> int | None:
        """Wait for its end, and return its exit status; None if it does not end."""
        assert self._process
        with suppress(subprocess.TimeoutExpired):
            return self._process.wait(longest_s)
        return None

    def kill(self) -> None:
        """End it, and all below it, as a crash does."""
        if self._process:
            signal_tree(self._process.pid, signal.SIGKILL)
            self._process.wait()


@dataclass
class Program(ChildProcess):
    """A program that listens on a port of loopback."""

    command: Sequence[str | Path]
    port: int
    log: Path
    environ: Mapping[str, str] = field(default_factory=dict)

    def start(self) -> None:
        """Start it, and wait until it listens.

        Raises:
            TimeoutError: It does not.
        """
        self.launch(self.command, self.log, self.log, self.environ)
        wait_for_port(self.port, str(self.command[0]))


class HostileServer(Program):
    """A receiver of requests whose manner can be changed while it runs."""

    def __init__(self, port: int, log: Path) -> None:
        self.requests, self.manner = log.with_suffix(".requests"), log.with_suffix(".manner")
        module = "workshop.benchmarks.camera_faults.receiver"
        command = (sys.executable, "-m", module, str(port), self.requests, self.manner)
        super().__init__(command, port, log)
        self.behave("ok")

    def behave(self, manner: str) -> None:
        """Answer requests in another manner from now on."""
        new = self.manner.with_suffix(".new")
        new.write_text(manner, encoding="utf-8")
        new.replace(self.manner)


def wait_for_port(port: int, name: str) -> None:
    """Wait until somebody listens on a port of loopback.

    Raises:
        TimeoutError: Nobody does.
    """
    deadline = time.monotonic() + START_S
    while True:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        if time.monotonic() > deadline:
            raise TimeoutError(f"wanted {name} to listen on port {port}")
        time.sleep(0.05)


def signal_tree(root: int, number: signal.Signals) -> None:
    """Send a signal to a process and to all below it."""
    for pid in find_tree(root):
        with suppress(ProcessLookupError):
            os.kill(pid, number)


TOPIC = "plates/+/pass"
AGAIN_S = 0.02
"""The subscriber comes back before any publisher: its pauses are longer."""


def make_broker(folder: Path, port: int) -> Program:
    """Return the program of a broker.

    Raises:
        CannotBeMadeError: It is not installed.
    """
    program = shutil.which("mosquitto") or shutil.which("/usr/sbin/mosquitto")
    if program is None:
        raise CannotBeMadeError("there is no mosquitto: apt-get install mosquitto")
    file = folder / "mosquitto.conf"
    file.write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\n", encoding="utf-8")
    return Program((program, "-c", file), port, folder / "mosquitto.log")


class Subscriber:
    """Takes all events of passes, over all breaks of its connection."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._is_over = False
        self.documents: list[dict[str, Any]] = []

    @contextmanager
    def run(self) -> Iterator[None]:
        """Subscribe for the length of a `with` block."""
        thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._is_over = True
            thread.join(5)

    async def _run(self) -> None:
        task = asyncio.create_task(self._take_all())
        while not self._is_over:
            await asyncio.sleep(0.1)
        task.cancel()
        await asyncio.wait({task}, timeout=2)

    async def _take_all(self) -> None:
        while True:
            with suppress(aiomqtt.MqttError, OSError):
                async with aiomqtt.Client("127.0.0.1", self._port, timeout=2) as client:
                    await client.subscribe(TOPIC, qos=1)
                    async for message in client.messages:
                        self.documents.append(json.loads(bytes(message.payload)))
            await asyncio.sleep(AGAIN_S)


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[None]:
    """Mount a small disk for the length of a `with` block.

    Raises:
        CannotBeMadeError: This user may not.
    """
    folder.mkdir(exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", f"mode=1777,size={size}", "tmpfs", str(folder)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        raise CannotBeMadeError(f"no small disk, which root may mount: {result.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=False, capture_output=True)
