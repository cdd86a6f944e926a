"""Starts and stops the peer FastAPI, in processes of its own, on a free port."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from orchestrator.host.probe import ProbeError, probe
from orchestrator.host.subprocesses import prepare_child, reap_group, without_secrets
from orchestrator.serving.supervisor.ports import free_ports
from workshop.benchmarks.bench.plan import FASTAPI
from workshop.benchmarks.load.requests import HttpRequest, rest
from workshop.benchmarks.peers.settings import PeerSettings
from workshop.benchmarks.service import HOST, START_TIMEOUT_S, wait

PROJECT = Path(__file__).resolve().parents[3]
READY_TIMEOUT_S, STOP_TIMEOUT_S = 1.0, 10.0
APPLICATION = "workshop.benchmarks.peers.fastapi_peer:create"
READY_LINE = "Application startup complete."
"""The line that each worker logs when it is ready."""


def build_request(encoded: bytes) -> HttpRequest:
    """Return the request for a JPEG file."""
    return rest(encoded, "/recognize", Content_Type="image/jpeg")


@dataclass(frozen=True)
class PeerServer:
    """A running peer; its process is the leader of a process group."""

    port: int
    process: subprocess.Popen[bytes]
    log: Path
    workers: int

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"

    def is_ready(self) -> bool:
        """Tell whether every worker has loaded its networks, and the peer answers."""
        if self.log.read_text(errors="replace").count(READY_LINE) < self.workers:
            return False
        with suppress(ProbeError):
            probe(f"{self.address}/ready", READY_TIMEOUT_S)
            return True
        return False

    def describe_end(self) -> str:
        """Say that the peer has ended; empty while it runs."""
        status = self.process.poll()
        return "" if status is None else f"{FASTAPI}: ended with exit status {status}"

    def stop(self) -> None:
        """Stop the peer, then kill what is left of its process group."""
        with suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(STOP_TIMEOUT_S)
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        reap_group(self.process.pid)


@contextmanager
def run_peer(settings: PeerSettings) -> Iterator[PeerServer]:
    """Run a peer for the length of a `with` block.

    Raises:
        ServerError: It ends, or is not ready in time; the message has the last line of its log.
    """
    with tempfile.TemporaryDirectory(prefix="plates-peer-") as folder:
        log = Path(folder, "log")
        server = _start(settings, log)
        try:
            process = server.process
            wait(server.is_ready, f"{FASTAPI} ready", START_TIMEOUT_S, process=process, log=log)
            yield server
        finally:
            server.stop()


def _start(settings: PeerSettings, log: Path) -> PeerServer:
    (port,) = free_ports(1)
    flags = [f"--host={HOST}", f"--port={port}", f"--workers={settings.workers}"]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "uvicorn", "--factory", APPLICATION, "--no-access-log", *flags],
            env={**without_secrets(), **settings.variables},
            cwd=PROJECT,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,  # Ctrl-C is for the load alone
            preexec_fn=prepare_child,
        )
    return PeerServer(port, process, log, settings.workers)
