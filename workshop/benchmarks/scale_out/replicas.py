"""Runs the replicas: `plates serve` processes as operators run them, each on its own cores."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from orchestrator.gateway.options import Address, GatewayOptions
from orchestrator.supervisor.local_server import prepare
from orchestrator.supervisor.options import ServerOptions
from orchestrator.supervisor.ports import free_ports
from workshop.benchmarks.processes import SHM, find_tree
from workshop.benchmarks.scale_out.waiting import reads_plates, wait

START_TIMEOUT_S = 120.0
STOP_TIMEOUT_S = 50.0
TOGETHER = ("--limit=client_calls=1000", "--limit=client_rate=10000")
"""High limits per client: the gateway sees all callers under one address."""
PLATES = Path(sys.executable).with_name("plates")


@dataclass
class Replica:
    """One supervised service; it may be down. Its cores determine its number of workers."""

    name: str
    options: GatewayOptions
    cores: frozenset[int]
    folder: Path
    _process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The process ID of the supervisor; 0 while it is down."""
        return self._process.pid if self._process else 0

    @property
    def log(self) -> Path:
        return self.folder / "log"

    def start(self) -> None:
        """Start the replica without waiting until it is ready."""
        temporary, options = self.folder / "tmp", self.options
        temporary.mkdir(parents=True)
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [
                    *("taskset", "--cpu-list", ",".join(map(str, sorted(self.cores)))),
                    *(PLATES, "serve", f"--http-port={options.http.port}"),
                    f"--grpc-port={options.grpc and options.grpc.port}",
                    *("--metrics-port=0", "--device=cpu", "--audit=/dev/null", *TOGETHER),
                ],
                env={**os.environ, "TMPDIR": str(temporary)},
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for the load alone
            )

    def wait_until_ready(self) -> None:
        """Wait until its models read plates.

        Raises:
            ServerError: The replica ended, or is not ready in time.
        """
        wait(
            self.is_ready,
            f"{self.name} ready",
            START_TIMEOUT_S,
            process=self._process,
            log=self.log,
        )

    def is_ready(self) -> bool:
        """Tell whether its models have read a plate lately, and are ready now."""
        return reads_plates(self.options.http)

    def kill(self) -> None:
        """Kill the supervisor, the server and its workers at once, as when a machine fails."""
        if self._process is None:
            return
        for pid in find_tree(self.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait()
        for left in SHM.glob(f"plates_{self.pid}_*"):
            left.unlink(missing_ok=True)
        shutil.rmtree(self.folder / "tmp", ignore_errors=True)
        self._process = None

    def stop(self) -> None:
        """Stop the replica as an operator does: it finishes the calls in progress."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(STOP_TIMEOUT_S)
        self.kill()


def on_free_ports() -> GatewayOptions:
    """Return the options of a gateway on free ports."""
    http, grpc = (Address("127.0.0.1", port) for port in free_ports(2))
    return GatewayOptions(http=http, grpc=grpc)


def deal(replicas: int, cores: Sequence[int], each: int) -> list[frozenset[int]]:
    """Assign `each` cores to every replica in turn; replicas share cores when there are too few.

    >>> deal(3, [0, 1], 1)
    [frozenset({0}), frozenset({1}), frozenset({0})]
    """
    return [
        frozenset(cores[(index * each + one) % len(cores)] for one in range(each))
        for index in range(replicas)
    ]


@contextmanager
def run_replicas(count: int, cores_each: int = 1) -> Iterator[list[Replica]]:
    """Run replicas on free ports for the length of a `with` block.

    Raises:
        ServerError: A replica cannot be started.
    """
    prepare(ServerOptions(device="cpu"))
    dealt = deal(count, sorted(os.sched_getaffinity(0)), cores_each)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="plates-scale-out-")))
        replicas = [
            Replica(f"replica{index}", on_free_ports(), cores, folder / f"replica{index}")
            for index, cores in enumerate(dealt, start=1)
        ]
        for replica in replicas:
            stack.callback(replica.stop)
            replica.start()
        for replica in replicas:
            replica.wait_until_ready()
        yield replicas
