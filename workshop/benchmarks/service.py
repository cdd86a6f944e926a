"""Runs `plates serve` as an operator does, on free ports and in separate folders."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.contract import MODEL
from orchestrator.errors import ServerError
from orchestrator.host.probe import ProbeError, probe
from orchestrator.host.subprocesses import prepare_child
from orchestrator.serving.supervisor.ports import free_ports
from workshop.benchmarks.bench.plan import Address
from workshop.benchmarks.processes import SHM, Processes, end_at_once, find_marked, find_processes

TOGETHER = ("--limit=client_calls=1000", "--limit=client_rate=100000")
"""High limits per client: the gateway sees all callers under one address."""
PLATES = Path(sys.executable).with_name("plates")
START_TIMEOUT_S, STOP_TIMEOUT_S = 120.0, 50.0
READY_TIMEOUT_S, LOOK_S = 1.0, 0.05
HOST = "127.0.0.1"
MARK = "PLATES_MEASURED_SERVICE"
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
class Launch:
    """The command line, the environment and the folders that a service is started with.

    Attributes:
        prefix: The start of its command line, for example to enter a namespace.
        tmp: Its TMPDIR, as a path inside the service; the service's own folder when None.
        root: The folder that the service sees as `/`.
        working_folder: The folder that it starts in; this process's own when None. Its child
            processes (`python -m ...`) import the code that lies there first.
        log: The file for its output; in the service's own folder when None.
    """

    prefix: Sequence[str] = ()
    flags: Sequence[str | Path] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    tmp: Path | None = None
    root: Path = Path("/")
    working_folder: Path | None = None
    audit: Path = Path(os.devnull)
    log: Path | None = None


@dataclass
class Service:
    """One service. It may be down, and can be started again by the same launch."""

    folder: Path
    launch: Launch = field(default_factory=Launch)
    ports: Ports = field(default_factory=Ports.find)
    whole: Processes | None = None
    _process: subprocess.Popen[bytes] | None = None
    _pids: list[int] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def pid(self) -> int:
        """The process ID of the command; 0 while it does not run."""
        return self._process.pid if self._process else 0

    @property
    def log(self) -> Path:
        return self.launch.log or self.folder / "log"

    @property
    def tmp(self) -> Path:
        """The TMPDIR of the service, as a path inside the service."""
        return self.launch.tmp or self.folder / "tmp"

    @property
    def gateway(self) -> Address:
        """The addresses of the gateway."""
        return Address(f"{HOST}:{self.ports.http}", f"{HOST}:{self.ports.grpc}")

    def start(self) -> None:
        """Start the service without waiting until it is ready."""
        launch = self.launch
        self.folder.mkdir(parents=True, exist_ok=True)
        self.outside(self.tmp).mkdir(parents=True, exist_ok=True)
        variables = {"TMPDIR": str(self.tmp), MARK: str(self.folder)}
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self._line(),
                env={**os.environ, **variables, **launch.variables},
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                cwd=launch.working_folder,
                start_new_session=True,  # Ctrl-C is for the load alone
                preexec_fn=prepare_child,
            )
        self._pids.append(self._process.pid)

    def _line(self) -> list[str]:
        launch = self.launch
        flags = [*self.ports.flags, f"--audit={launch.audit}", *TOGETHER, *launch.flags]
        return [*map(str, (*launch.prefix, PLATES, "serve", *flags))]

    def wait_until_ready(self, timeout_s: float = START_TIMEOUT_S) -> None:
        """Wait until the service reads plates."""
        process, log = self._process, self.log
        wait(self.is_ready, f"{self.name} ready", timeout_s, process=process, log=log)
        if self.whole is None:
            self.whole = self.processes()

    def is_ready(self) -> bool:
        """Tell whether the service has read plates lately, and its models are ready now."""
        try:
            for path in ("readyz", f"v2/models/{MODEL}/ready"):
                probe(f"{self.gateway.http}/{path}", READY_TIMEOUT_S)
        except ProbeError:
            return False
        return True

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
        """Return the names of the service's regions and folders in shared memory and TMPDIR.

        Folders in shared memory count only when no other service shares it.
        """
        parents = [self.tmp, SHM] if self.launch.root != Path("/") else [self.tmp]
        folders = [folder for parent in parents for folder in self.outside(parent).glob("plates-*")]
        return frozenset(path.name for path in (*self.list_regions(), *folders))

    def list_regions(self) -> list[Path]:
        """Return the service's regions; all regions when no other service shares /dev/shm."""
        is_alone = self.launch.root != Path("/")
        names = ["plates_*"] if is_alone else [f"plates_{pid}_*" for pid in self._pids]
        return [region for name in names for region in self.outside(SHM).glob(name)]

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

    def kill(self) -> None:
        """Kill it and remove its regions and temporary files, as when its machine fails."""
        self.kill_all()
        self.remove_regions()
        shutil.rmtree(self.outside(self.tmp), ignore_errors=True)

    def restart(self) -> None:
        """Kill the service and start it again."""
        self.kill_all()
        self.remove_regions()
        self.start()
        self.wait_until_ready()

    def stop(self) -> int | None:
        """Stop the service as an operator does, then kill all remaining processes.

        Returns:
            The exit status of the command; None when it did not run, or did not end.
        """
        status = None
        if self.is_running():
            self.send(signal.SIGTERM)
            status = self.wait_for_end()
        self.kill_all()
        return status

    def remove_regions(self) -> None:
        """Remove the shared memory that killed services of ours left behind."""
        for region in self.list_regions():
            region.unlink(missing_ok=True)

    def outside(self, path: Path) -> Path:
        """Return the path outside the service's namespace for a path inside it."""
        return self.launch.root / path.relative_to("/")


@contextmanager
def run_service(launch: Launch) -> Iterator[Service]:
    """Run a service for the length of a `with` block."""
    with tempfile.TemporaryDirectory(prefix="plates-") as folder:
        service = Service(Path(folder, "service"), launch)
        try:
            service.start()
            service.wait_until_ready()
            yield service
        finally:
            service.stop()
            service.remove_regions()


def wait(
    is_so: Callable[[], bool],
    state: str,
    timeout_s: float = 60.0,
    *,
    process: subprocess.Popen[bytes] | None = None,
    log: Path | None = None,
) -> None:
    """Wait until a condition is true."""
    deadline = time.monotonic() + timeout_s
    while not is_so():
        is_over = process is not None and process.poll() is not None
        if is_over or time.monotonic() > deadline:
            event = "its end" if is_over else "no change"
            lines = log.read_text(errors="replace").splitlines() if log else []
            last_line = f"; {lines[-1]}" if lines else ""
            raise ServerError(f"wanted {state} within {timeout_s:.0f} s, got {event}{last_line}")
        time.sleep(LOOK_S)
