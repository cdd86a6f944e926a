"""`plates serve` as an operator runs it, in folders of its own."""

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

from benchmarks.faults.census import Census, take_census
from benchmarks.processes import SHM
from benchmarks.scale_out.replicas import TOGETHER
from benchmarks.scale_out.waiting import reads_plates, wait
from orchestrator.server.ports import free_ports

PLATES = Path(sys.executable).with_name("plates")
START_TIMEOUT_S, STOP_TIMEOUT_S = 90.0, 30.0
HOST = "127.0.0.1"
MARK = "FAULTS_SERVICE"
"""In the environment of all processes of a service: its folder."""


@dataclass(frozen=True)
class Ports:
    """Where a service listens."""

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
    """How a service is started.

    Attributes:
        prefix: Of its command line: what puts it into a namespace, for example.
        flags: More of `plates serve`.
        variables: More of its environment.
        tmp: Its TMPDIR, as it sees it; a folder of the service's own when None.
        root: What it sees as `/`.
        audit: Where each call's line goes.
    """

    prefix: Sequence[str] = ()
    flags: Sequence[str | Path] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    tmp: Path | None = None
    root: Path = Path("/")
    audit: Path = Path(os.devnull)


@dataclass
class Service:
    """One service; it may be down, and is started again as it was."""

    folder: Path
    way: Way = field(default_factory=Way)
    ports: Ports = field(default_factory=Ports.find)
    whole: Census | None = None
    _process: subprocess.Popen[bytes] | None = None
    _started: list[int] = field(default_factory=list)

    @property
    def pid(self) -> int:
        """Of the command; 0 while it is down."""
        return self._process.pid if self._process else 0

    @property
    def log(self) -> Path:
        return self.folder / "log"

    @property
    def tmp(self) -> Path:
        """Its TMPDIR, as it sees it."""
        return self.way.tmp or self.folder / "tmp"

    @property
    def gateway(self) -> str:
        """Where the gateway's HTTP is."""
        return f"{HOST}:{self.ports.http}"

    @property
    def gateway_grpc(self) -> str:
        return f"{HOST}:{self.ports.grpc}"

    def start(self) -> None:
        """Start it; it answers later."""
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
        """Return when plates are read.

        Raises:
            ServerError: It ended, or is not ready in time.
        """
        process, log = self._process, self.log
        wait(self.is_ready, "the service ready", timeout_s, process=process, log=log)
        if self.whole is None:
            self.whole = self.census()

    def is_ready(self) -> bool:
        """Tell whether plates were read lately, and its models are there now."""
        return reads_plates(self.gateway)

    def is_running(self) -> bool:
        """Tell whether the command runs, whatever became of its processes."""
        return self._process is not None and self._process.poll() is None

    def census(self) -> Census:
        """Return its processes that can work."""
        return take_census(self.pid) if self.pid else Census({})

    def is_whole(self, victims: Iterable[int] = ()) -> bool:
        """Tell whether as many processes work as when it was ready first, without the victims."""
        return self.whole is not None and self.census().is_whole(self.whole, victims)

    def find(self, role: str) -> int:
        """Return one process that does this, the eldest."""
        return min(self.census().pids[role])

    def leftovers(self) -> frozenset[str]:
        """Return what there is of it in shared memory and in its TMPDIR, by name."""
        folders = self.outside(self.tmp).glob("plates-*")
        return frozenset(one.name for one in (*self._regions(), *folders))

    def _regions(self) -> Iterator[Path]:
        """Give its regions; all there are where nobody else's can be."""
        is_alone = self.way.root != Path("/")
        names = ["plates_*"] if is_alone else [f"plates_{pid}_*" for pid in self._started]
        for name in names:
            yield from self.outside(SHM).glob(name)

    def send(self, number: signal.Signals) -> None:
        """Send the command a signal."""
        os.kill(self.pid, number)

    def wait_for_end(self, timeout_s: float = STOP_TIMEOUT_S) -> int | None:
        """Return the command's exit status; None when it does not end."""
        assert self._process is not None
        with suppress(subprocess.TimeoutExpired):
            return self._process.wait(timeout_s)
        return None

    def kill_all(self) -> None:
        """End all of its processes at once, as a container's; orphans of a dead command, too."""
        end_at_once(find_marked(MARK, str(self.folder)))
        if self._process:
            self._process.wait()
        self._process = None

    def restart(self) -> None:
        """End it by force and start it again.

        Raises:
            ServerError: It is not ready in time.
        """
        self.kill_all()
        self.remove_regions()
        self.start()
        self.wait_until_ready()

    def stop(self) -> None:
        """End it as an operator does; by force when it does not."""
        if self.is_running():
            self.send(signal.SIGTERM)
            self.wait_for_end()
        self.kill_all()

    def remove_regions(self) -> None:
        """Remove the shared memory that our services which were killed left behind."""
        for region in self._regions():
            region.unlink(missing_ok=True)

    def outside(self, path: Path) -> Path:
        """Return what the service sees under a path, as it is seen from here."""
        return self.way.root / path.relative_to("/")


def find_marked(name: str, value: str) -> frozenset[int]:
    """Return the processes in whose environment a variable has this value."""
    found = set()
    for process in psutil.process_iter():
        with suppress(psutil.Error):  # it has ended, or is somebody else's
            if process.environ().get(name) == value:
                found.add(process.pid)
    return frozenset(found)


def end_at_once(pids: Iterable[int]) -> None:
    """Kill processes that are ours; who has ended has."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@contextmanager
def run_service(way: Way | None = None) -> Iterator[Service]:
    """Run a service for the length of a `with` block.

    Raises:
        ServerError: It cannot be started.
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
