"""Runs `plates serve` as an operator does, in separate folders."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from orchestrator.supervisor.ports import free_ports
from workshop.benchmarks.faults.process_counts import Processes, find_processes
from workshop.benchmarks.plan import Address
from workshop.benchmarks.processes import SHM
from workshop.benchmarks.scale_out.replicas import TOGETHER
from workshop.benchmarks.scale_out.waiting import reads_plates, wait

PLATES = Path(sys.executable).with_name("plates")
START_TIMEOUT_S, STOP_TIMEOUT_S = 90.0, 30.0
HOST = "127.0.0.1"
MARK = "FAULTS_SERVICE"
"""The environment variable with the folder of a service, set in all its processes."""


@dataclass(frozen=True)
class Ports:
    """The ports that a service listens on."""

    http: int
    grpc: int
    metrics: int

    @classmethod
    def find(cls) -> Ports:
        """Return ports that are free at the moment."""
        return cls(*free_ports(3))

    @property
    def flags(self) -> list[str]:
        return [f"--{name}-port={port}" for name, port in vars(self).items()]


@dataclass(frozen=True)
class Way:
    """The way in which a service is started.

    Attributes:
        prefix: The start of its command line, for example to enter a namespace.
        flags: Additional flags of `plates serve`.
        variables: Additional environment variables.
        tmp: Its TMPDIR, as a path inside the service; the service's own folder when None.
        root: The folder that the service sees as `/`.
        audit: The file for the audit, one line per call.
    """

    prefix: Sequence[str] = ()
    flags: Sequence[str | Path] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    tmp: Path | None = None
    root: Path = Path("/")
    audit: Path = Path(os.devnull)


@dataclass
class Service:
    """One service. It may be down, and can be started again in the same way."""

    folder: Path
    way: Way = field(default_factory=Way)
    ports: Ports = field(default_factory=Ports.find)
    whole: Processes | None = None
    _process: subprocess.Popen[bytes] | None = None
    _started: list[int] = field(default_factory=list)

    @property
    def pid(self) -> int:
        """The process ID of the command; 0 while it is down."""
        return self._process.pid if self._process else 0

    @property
    def log(self) -> Path:
        return self.folder / "log"

    @property
    def tmp(self) -> Path:
        """The TMPDIR of the service, as a path inside the service."""
        return self.way.tmp or self.folder / "tmp"

    @property
    def gateway(self) -> Address:
        """The addresses of the gateway."""
        return Address(f"{HOST}:{self.ports.http}", f"{HOST}:{self.ports.grpc}")

    def start(self) -> None:
        """Start the service without waiting until it is ready."""
        way = self.way
        self.outside(self.tmp).mkdir(parents=True, exist_ok=True)
        variables = {"TMPDIR": str(self.tmp), MARK: str(self.folder)}
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self._line(),
                env={**os.environ, **variables, **way.variables},
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for the load alone
            )
        self._started.append(self._process.pid)

    def _line(self) -> list[str]:
        way = self.way
        flags = [*self.ports.flags, f"--audit={way.audit}", *TOGETHER, "--device=cpu", *way.flags]
        return [*map(str, (*way.prefix, PLATES, "serve", *flags))]

    def wait_until_ready(self, timeout_s: float = START_TIMEOUT_S) -> None:
        """Wait until the service reads plates.

        Raises:
            ServerError: The service ended, or is not ready in time.
        """
        process, log = self._process, self.log
        wait(self.is_ready, "the service ready", timeout_s, process=process, log=log)
        if self.whole is None:
            self.whole = self.processes()

    def is_ready(self) -> bool:
        """Tell whether the service has read plates lately, and its models are ready now."""
        return reads_plates(self.gateway.http)

    def is_running(self) -> bool:
        """Tell whether the command runs; its child processes do not matter."""
        return self._process is not None and self._process.poll() is None

    def processes(self) -> Processes:
        """Return the working processes of the service."""
        return find_processes(self.pid) if self.pid else Processes({})

    def is_whole(self, victims: Iterable[int] = ()) -> bool:
        """Tell whether as many processes work as after the first start, without the victims."""
        return self.whole is not None and self.processes().is_whole(self.whole, victims)

    def find(self, role: str) -> int:
        """Return the process of this role with the lowest ID."""
        return min(self.processes().pids[role])

    def leftovers(self) -> frozenset[str]:
        """Return the names of the service's regions in shared memory and folders in its TMPDIR."""
        folders = self.outside(self.tmp).glob("plates-*")
        return frozenset(one.name for one in (*self._regions(), *folders))

    def _regions(self) -> Iterator[Path]:
        """Yield the service's regions; all regions when no other service shares /dev/shm."""
        is_alone = self.way.root != Path("/")
        names = ["plates_*"] if is_alone else [f"plates_{pid}_*" for pid in self._started]
        for name in names:
            yield from self.outside(SHM).glob(name)

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the command."""
        os.kill(self.pid, number)

    def wait_for_end(self, timeout_s: float = STOP_TIMEOUT_S) -> int | None:
        """Wait for the command; return its exit status, or None when it does not end."""
        assert self._process is not None
        with suppress(subprocess.TimeoutExpired):
            return self._process.wait(timeout_s)
        return None

    def kill_all(self) -> None:
        """Kill all its processes at once, as with a container; orphans of a dead command too."""
        end_at_once(find_marked(MARK, str(self.folder)))
        if self._process:
            self._process.wait()
        self._process = None

    def restart(self) -> None:
        """Kill the service and start it again.

        Raises:
            ServerError: The service is not ready in time.
        """
        self.kill_all()
        self.remove_regions()
        self.start()
        self.wait_until_ready()

    def stop(self) -> None:
        """Stop the service as an operator does, then kill all remaining processes."""
        if self.is_running():
            self.send(signal.SIGTERM)
            self.wait_for_end()
        self.kill_all()

    def remove_regions(self) -> None:
        """Remove the shared memory that killed services of ours left behind."""
        for region in self._regions():
            region.unlink(missing_ok=True)

    def outside(self, path: Path) -> Path:
        """Return the path outside the service's namespace for a path inside it."""
        return self.way.root / path.relative_to("/")


def find_marked(name: str, value: str) -> frozenset[int]:
    """Return the processes that have an environment variable with this value."""
    found = set()
    for process in psutil.process_iter():
        with suppress(psutil.Error):  # it has ended, or belongs to another user
            if process.environ().get(name) == value:
                found.add(process.pid)
    return frozenset(found)


def end_at_once(pids: Iterable[int]) -> None:
    """Kill processes of ours; processes that have ended are skipped."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@contextmanager
def run_service(way: Way | None = None) -> Iterator[Service]:
    """Run a service for the length of a `with` block.

    Raises:
        ServerError: The service cannot be started.
    """
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        service = Service(Path(folder), way or Way())
        try:
            service.start()
            service.wait_until_ready()
            yield service
        finally:
            service.stop()
            service.remove_regions()
