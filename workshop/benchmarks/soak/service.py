"""Runs the service under test: a separate `plates serve` on free ports."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from orchestrator.supervisor.ports import free_ports
from orchestrator.system.probe import ProbeError, probe
from orchestrator.system.subprocesses import begin_child
from workshop.benchmarks.plan import Address
from workshop.benchmarks.processes import SHM
from workshop.benchmarks.scale_out.waiting import wait
from workshop.benchmarks.soak.samples import Measured

PLATES = Path(sys.executable).with_name("plates")
START_TIMEOUT_S, STOP_TIMEOUT_S, PROBE_TIMEOUT_S = 120.0, 60.0, 2.0
RATE = "client_rate=100000"
"""A rate limit that is never reached: all callers count as one client here."""


@dataclass
class Service:
    """A running service.

    Attributes:
        process: The process of the supervisor.
        gateway: The addresses of the gateway.
        temporary: Its temporary folder.
        log: The file with the output of the service.
        left: After the end: one sentence for each kind of leftover or error.
    """

    process: subprocess.Popen[bytes]
    gateway: Address
    temporary: Path
    log: Path
    left: tuple[str, ...] = ()

    @property
    def measured(self) -> Measured:
        return Measured(self.process.pid, self.temporary)

    def tell_end(self) -> str:
        """Say how the service ended; empty while it runs."""
        code = self.process.poll()
        return "" if code is None else f"plates serve ended (exit status {code})"

    def is_ready(self) -> bool:
        """Tell whether the service has read a plate."""
        try:
            probe(f"{self.gateway.http}/readyz", PROBE_TIMEOUT_S)
        except ProbeError:
            return False
        return True

    def stop(self) -> None:
        """Stop the service as an operator does, and look for leftovers."""
        self.process.terminate()
        try:
            code = self.process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        self.left = tuple(self._list_left(code))

    def _list_left(self, code: int) -> Iterator[str]:
        if code:
            yield f"plates serve: wanted exit status 0, got {code}"
        regions = [*SHM.glob(f"{self.measured.shm_prefix}*")]
        for region in regions:
            with suppress(OSError):
                region.unlink()
        if regions:
            yield f"{len(regions)} files in /dev/shm"
        if files := [*self.temporary.iterdir()]:
            yield f"in the temporary folder: {', '.join(sorted(one.name for one in files))}"


@contextmanager
def run_service(log: Path) -> Iterator[Service]:
    """Run a service for the length of a `with` block, which begins after it has read a plate.

    Args:
        log: The file for the output of the service.

    Raises:
        ServerError: The service cannot be started.
    """
    temporary = Path(tempfile.mkdtemp(prefix="plates-soak-"))
    try:
        ports = free_ports(2)
        gateway = Address(*(f"127.0.0.1:{port}" for port in ports))
        service = Service(_launch(ports, temporary, log), gateway, temporary, log)
        try:
            is_up = partial(wait, process=service.process, log=log)
            is_up(service.is_ready, "a service that reads plates", START_TIMEOUT_S)
            yield service
        finally:
            service.stop()
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _launch(ports: Sequence[int], temporary: Path, log: Path) -> subprocess.Popen[bytes]:
    with log.open("wb") as output:
        return subprocess.Popen(
            [
                *(PLATES, "serve", f"--http-port={ports[0]}", f"--grpc-port={ports[1]}"),
                *("--metrics-port=0", f"--audit={os.devnull}", f"--limit={RATE}"),
            ],
            env={**os.environ, "TMPDIR": str(temporary)},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,  # Ctrl-C is for the callers alone
            preexec_fn=begin_child,
        )
