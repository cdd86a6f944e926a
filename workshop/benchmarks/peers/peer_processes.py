"""Starts and stops the peers, in processes of their own, on free ports."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from orchestrator.host.probe import ProbeError, probe
from orchestrator.host.subprocesses import prepare_child, reap_group, without_secrets
from orchestrator.serving.supervisor.ports import free_ports
from workshop.benchmarks.load.requests import HttpRequest, rest
from workshop.benchmarks.peers.settings import PeerSettings
from workshop.benchmarks.service import HOST, START_TIMEOUT_S, wait

PROJECT = Path(__file__).resolve().parents[3]
READY_TIMEOUT_S, STOP_TIMEOUT_S = 1.0, 10.0


@dataclass(frozen=True)
class Peer:
    """A server framework, and the way to serve the pipeline with it.

    Attributes:
        package: Its Python package. The peer is left out where the package is not installed.
        command: Returns the arguments of Python for a port and a number of workers.
        build: Returns the request for a JPEG file.
        health: A path that answers with 200 when the peer is ready.
        ready_line: The line that each worker logs when it is ready; empty if `health` is enough.
    """

    name: str
    package: str
    command: Callable[[int, int], list[str]]
    build: Callable[[bytes], HttpRequest]
    health: str
    ready_line: str = ""

    def is_installed(self) -> bool:
        return importlib.util.find_spec(self.package) is not None


def _command_fastapi(port: int, workers: int) -> list[str]:
    application = "workshop.benchmarks.peers.fastapi_peer:create"
    flags = [f"--host={HOST}", f"--port={port}", f"--workers={workers}", "--no-access-log"]
    return ["-m", "uvicorn", "--factory", application, *flags]


def _build(encoded: bytes) -> HttpRequest:
    return rest(encoded, "/recognize", Content_Type="image/jpeg")


FASTAPI = Peer(
    "FastAPI",
    "fastapi",
    _command_fastapi,
    _build,
    health="ready",
    ready_line="Application startup complete.",
)


def _command_litserve(port: int, workers: int) -> list[str]:
    return ["-m", "workshop.benchmarks.peers.litserve_peer", str(port), str(workers)]


LITSERVE = Peer("LitServe", "litserve", _command_litserve, _build, health="health")


@dataclass(frozen=True)
class PeerServer:
    """A running peer; its process is the leader of a process group."""

    peer: Peer
    port: int
    process: subprocess.Popen[bytes]
    log: Path
    workers: int

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"

    def is_ready(self) -> bool:
        """Tell whether every worker has loaded its networks, and the peer answers."""
        line = self.peer.ready_line
        if line and self.log.read_text(errors="replace").count(line) < self.workers:
            return False
        try:
            probe(f"{self.address}/{self.peer.health}", READY_TIMEOUT_S)
        except ProbeError:
            return False
        return True

    def describe_end(self) -> str:
        """Say that the peer has ended; empty while it runs."""
        status = self.process.poll()
        return "" if status is None else f"{self.peer.name}: ended with exit status {status}"

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
def run_peer(peer: Peer, settings: PeerSettings) -> Iterator[PeerServer]:
    """Run a peer for the length of a `with` block.

    Raises:
        ServerError: It ends, or is not ready in time; the message has the last line of its log.
    """
    with tempfile.TemporaryDirectory(prefix="plates-peer-") as folder:
        log = Path(folder, "log")
        server = _start(peer, settings, log)
        try:
            wait(
                server.is_ready,
                f"{peer.name} ready",
                START_TIMEOUT_S,
                process=server.process,
                log=log,
            )
            yield server
        finally:
            server.stop()


def _start(peer: Peer, settings: PeerSettings, log: Path) -> PeerServer:
    (port,) = free_ports(1)
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, *peer.command(port, settings.workers)],
            env={**without_secrets(), **settings.variables},
            cwd=PROJECT,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,  # Ctrl-C is for the load alone
            preexec_fn=prepare_child,
        )
    return PeerServer(peer, port, process, log, settings.workers)
