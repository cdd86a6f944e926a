"""Fakes of the workers that a monitor watches."""

from dataclasses import dataclass, field, replace

from orchestrator.errors import ServerError
from orchestrator.host.heartbeat import Beat
from orchestrator.serving.protocol.gateway_events import Event
from orchestrator.serving.supervisor.monitoring.server_log import ServerLog
from orchestrator.serving.supervisor.monitoring.worker_monitor import WorkerMonitor
from orchestrator.serving.supervisor.monitoring.workers import Worker

IDLE = Beat()


@dataclass
class FakeWorkers:
    """The workers of a server, by process id."""

    by_pid: dict[int, Worker] = field(default_factory=dict)
    forgotten_pids: set[int] = field(default_factory=set)

    def add(self, pid: int, model: str = "stn", state: str = "S") -> None:
        self.by_pid[pid] = Worker(pid, model, state)

    def die(self, pid: int, reason: str = "SIGKILL") -> None:
        self.by_pid[pid] = replace(self.by_pid[pid], state="Z", exit_reason=reason)

    def alive(self) -> list[Worker]:
        return [worker for worker in self.by_pid.values() if not worker.exit_reason]

    def dead(self) -> list[Worker]:
        return [
            worker
            for worker in self.by_pid.values()
            if worker.exit_reason and self.is_known(worker)
        ]

    def itself(self) -> list[Worker]:
        return []

    def forget(self, worker: Worker) -> None:
        self.forgotten_pids.add(worker.pid)

    def is_known(self, worker: Worker) -> bool:
        return worker.pid not in self.forgotten_pids


@dataclass
class FakeReload:
    """Notes which models are loaded again; a test says when one is loaded, or fails with errors."""

    starts: list[tuple[str, bool]] = field(default_factory=list)
    loading: set[str] = field(default_factory=set)
    loaded_models: list[str] = field(default_factory=list)
    errors: dict[str, ServerError | None] = field(default_factory=dict)

    def start(self, model: str, *, has_others: bool) -> None:
        self.starts.append((model, has_others))
        self.loading.add(model)

    def finish(self) -> dict[str, ServerError | None]:
        ends = {**dict.fromkeys(self.loaded_models), **self.errors}
        self.loaded_models, self.errors = [], {}
        self.loading -= {*ends}
        return ends

    def is_loading(self, model: str) -> bool:
        return model in self.loading


@dataclass
class FakeHeartbeats:
    """Heartbeats by process id; a worker that is not in the table writes none."""

    beats: dict[int, Beat] = field(default_factory=dict)

    def read(self, pid: int) -> Beat:
        return self.beats.get(pid, IDLE)

    def exists(self, pid: int) -> bool:
        return pid in self.beats

    def read_stack(self, pid: int) -> str:
        return f"stack of {pid}"


@dataclass
class MonitorStory:
    """A monitor with fakes, and its actions."""

    now: float = 1000.0
    workers: FakeWorkers = field(default_factory=FakeWorkers)
    reload: FakeReload = field(default_factory=FakeReload)
    heartbeats: FakeHeartbeats = field(default_factory=FakeHeartbeats)
    events: list[Event] = field(default_factory=list)
    signals: list[tuple[int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.monitor = WorkerMonitor(
            self.workers,
            self.reload,
            heartbeats=self.heartbeats,
            log=ServerLog(),
            notify=self.events.append,
            clock=lambda: self.now,
            send=lambda pid, number: self.signals.append((pid, number)),
        )

    def check_for(self, seconds: float) -> None:
        """Check every quarter of a second."""
        for _ in range(round(seconds * 4)):
            self.now += 0.25
            assert self.monitor.check()

    def lose(self, pid: int) -> None:
        self.workers.die(pid)
        assert self.monitor.check()
