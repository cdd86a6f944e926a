"""A running Triton: replaces its lost workers, and stops it, at once or after its last calls."""

from __future__ import annotations

import logging
import subprocess
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.host.heartbeat import Heartbeats
from orchestrator.host.subprocesses import defer_stops
from orchestrator.serving.protocol.gateway_events import Event
from orchestrator.serving.supervisor.launch.shutdown import Shutdown, do_nothing
from orchestrator.serving.supervisor.models.plate_models import MODELS
from orchestrator.serving.supervisor.monitoring.model_reload import ModelReload
from orchestrator.serving.supervisor.monitoring.server_log import ServerLog
from orchestrator.serving.supervisor.monitoring.worker_monitor import WorkerMonitor
from orchestrator.serving.supervisor.monitoring.workers import Workers, describe_exit
from orchestrator.serving.supervisor.options import ServerOptions
from orchestrator.serving.supervisor.server_folder import ServerFolder

STOP_S = 20.0
"""Longest wait for the calls in progress when the server is stopped."""
LIST_EVERY_S = 0.5
"""Longest age of the list of workers. A serving server gets new workers only to replace lost
ones."""

logger = logging.getLogger(__name__)


def ignore(_event: Event) -> None:
    """Ignore the event; it is in the log already."""


@dataclass
class Server:
    """A running server; `start` and `run_server` make one.

    Attributes:
        options: The options of its start.
        process: The process of tritonserver.
        folder: Its files on disk and in shared memory.
        models: The models that it loads at its start.
        ours: The repository, if only this process writes to it.
        notify: Called for each worker that dies, and for each model that has new workers.
        log: The output of the server and its workers.
        workers: Its child processes.
    """

    options: ServerOptions
    process: subprocess.Popen[str]
    folder: ServerFolder
    models: tuple[str, ...] = MODELS
    ours: Path | None = None
    notify: Callable[[Event], None] = ignore
    log: ServerLog = field(default_factory=ServerLog)
    workers: Workers = field(init=False)

    def __post_init__(self) -> None:
        self.workers = Workers(self.process.pid)
        self._monitor = WorkerMonitor(
            self.workers,
            ModelReload(self.options, self.ours),
            heartbeats=Heartbeats(self.folder.heartbeats),
            log=self.log,
            notify=self.notify,
        )
        self._shutdown = Shutdown(
            self.process, self._monitor.is_idle, sends_traces=bool(self.options.traces)
        )
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    @property
    def shm_prefix(self) -> str:
        return self.folder.shm_prefix

    def is_running(self) -> bool:
        return self.process.poll() is None

    def exit_reason(self) -> str:
        """Return how tritonserver ended; empty while it runs."""
        if self.is_running():
            return ""
        self._listener.join(1)  # its last lines may still be on the way
        return describe_exit(self.process.returncode)

    def begin_serving(self) -> None:
        """Change from the start, with its frequent checks, to regular work."""
        self.folder.close_shared_memory()
        self.workers.list_every_s = LIST_EVERY_S
        self.log.release()

    def monitor(self) -> bool:
        """Replace dead and hung workers; return False when the server must be restarted.

        Regular calls also close the shared memory of each new worker to other users.
        """
        self.folder.close_shared_memory()
        if exit_reason := self.exit_reason():
            logger.error("tritonserver ended (%s): %s", exit_reason, self.log.reason())
            return False
        return self._monitor.check()

    def needs_restart(self) -> bool:
        """Tell whether so many of its workers died that it should be restarted."""
        return self._monitor.needs_restart()

    def drain(self, timeout_s: float = 10.0, on_wait: Callable[[], None] = do_nothing) -> None:
        """Stop a server when its clients have a new one, after their last calls are answered.

        A Triton that is told to stop while calls still come rejects the calls that models make to
        each other for requests in progress.

        Args:
            timeout_s: Longest wait; a server whose clients call without a pause may never be idle.
            on_wait: Called again and again while this waits. Its errors are raised after the
                server's end.
        """
        try:
            self._shutdown.wait_until_idle(timeout_s, on_wait)
            self._monitor.close()
            self._shutdown.terminate(STOP_S, on_wait)
        except BaseException:
            self.stop()
            raise
        with defer_stops():
            self._remove()

    def stop(self, timeout_s: float = STOP_S) -> None:
        """Stop the server and its workers, and remove what they leave behind."""
        with defer_stops():
            self._monitor.close()
            self._shutdown.terminate(timeout_s)
            self._remove()

    def _remove(self) -> None:
        self._shutdown.kill()
        self.folder.remove()

    def _listen(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr as lines:
            self.log.follow(lines)
