"""`plates serve` and gateways in separate processes."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from orchestrator.serving.gateway.launcher import start
from orchestrator.serving.gateway.options import Address, GatewayOptions
from orchestrator.serving.supervisor.ports import free_ports
from tests.samples import PLATES
from tests.waiting import until
from workshop.benchmarks.processes import find_tree, find_workers


@dataclass(frozen=True)
class Serving:
    """A running `plates serve`.

    Attributes:
        process: The command.
        url: URL of its HTTP port.
        grpc: Address of its gRPC port.
        output: Output of the command until it was ready.
        log: File of its messages.
    """

    process: subprocess.Popen[str]
    url: str
    grpc: str
    output: str
    log: Path

    def gateways(self) -> set[int]:
        """Return the gateway's processes."""
        below = find_tree(self.process.pid)
        return {pid for pid in below if b"orchestrator.serving.gateway" in command_line(pid)}

    def workers(self, model: str = "lprnet") -> set[int]:
        """Return Triton's workers for one model."""
        return {*find_workers(self.process.pid, model)}

    def tritons(self) -> set[int]:
        """Return the processes of tritonserver itself."""
        below = find_tree(self.process.pid)
        return {pid for pid in below if command_line(pid).split(b"\0")[0].endswith(b"tritonserver")}


@contextmanager
def serve(*flags: str | Path, env: Mapping[str, str] | None = None) -> Iterator[Serving]:
    """Run `plates serve` on free ports for the length of a `with` block; nothing outlives it.

    Unless the flags say otherwise, it processes one picture at once: fewer workers start sooner.
    It inherits this process's environment, unless another one is given.
    """
    http, grpc, metrics = free_ports(3)
    with NamedTemporaryFile("w") as log:
        process = subprocess.Popen(
            [PLATES, "serve", f"--http-port={http}", f"--grpc-port={grpc}",
             f"--metrics-port={metrics}", "--pictures=1", *flags],
            stdout=subprocess.PIPE, stderr=log, text=True, env=env,
        )  # fmt: skip
        lines, file = list[str](), Path(log.name)
        for line in process.stdout or ():
            lines.append(line)
            if line.startswith("Ctrl-C"):
                break
        assert lines, file.read_text()
        pids = find_tree(process.pid)
        try:
            output = "".join(lines)
            yield Serving(process, f"localhost:{http}", f"localhost:{grpc}", output, file)
        finally:
            if process.poll() is None:
                pids = find_tree(process.pid)
                process.terminate()
            process.communicate()
            until(lambda: not find_running(pids), "its processes away")


@contextmanager
def run_gateway(options: GatewayOptions, **changes: Any) -> Iterator[GatewayOptions]:
    """Run a gateway on free ports for the length of a `with` block; yield its options."""
    http, grpc, metrics = (Address("127.0.0.1", port) for port in free_ports(3))
    gateway = start(replace(options, http=http, grpc=grpc, metrics=metrics, **changes))
    try:
        yield gateway.options
    finally:
        gateway.stop()


def find_running(pids: set[int]) -> set[int]:
    """Return the processes that still run; zombies do not."""
    running = set()
    for pid in pids:
        with suppress(OSError):
            stat = Path(f"/proc/{pid}/stat").read_text()
            running |= {pid} if stat.rpartition(")")[2].split()[0] != "Z" else set()
    return running


def command_line(pid: int) -> bytes:
    """Return a process's command line; empty if it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
