"""Monitors the workers of a server: finds dead and hung ones, reports and replaces them."""

from __future__ import annotations

import json
import logging
import os
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone

from orchestrator.contract import unmark
from orchestrator.errors import ServerError
from orchestrator.host.heartbeat import ASK, Beat, Heartbeats, State, Watchdog
from orchestrator.host.retry import Backoff
from orchestrator.serving.protocol.gateway_events import Event, WorkerDied, WorkersReplaced
from orchestrator.serving.supervisor.monitoring.model_reload import ModelReload
from orchestrator.serving.supervisor.monitoring.server_log import ServerLog
from orchestrator.serving.supervisor.monitoring.workers import SERVER, Worker, Workers

MAX_CHARACTERS = 2000  # characters of a stack trace
LINES = 8
OUTSIDE = ("SIGKILL", "SIGTERM", "stopped")
"""Signals that no picture causes: an administrator sends them, or the kernel when memory is
short."""


@dataclass(frozen=True)
class CrashReport:
    """The report of a worker that died or was killed because it hung.

    Attributes:
        model: The model that the worker served.
        pid: The worker's process id.
        reason: A signal, an exit status, or the time for which it hung.
        beat: Its last heartbeat.
        stack: Python's stack trace of its end, or of the place where it hung; may be empty.
        lines: The last lines that the server and its workers wrote, without Triton's own log.
    """

    model: str
    pid: int
    reason: str
    beat: Beat
    stack: str = ""
    lines: Sequence[str] = ()

    @property
    def suspects(self) -> tuple[str, ...]:
        """Ids of the requests that may be the cause: the worker was processing them."""
        is_its_own = self.beat.state is State.WORKING and self.reason not in OUTSIDE
        return self.beat.calls if is_its_own else ()

    def to_json(self) -> str:
        """Return the line for the log."""
        is_idle = self.beat.state is State.IDLE
        line = {
            "time": datetime.now(timezone.utc).isoformat(timespec="milliseconds"),
            "event": "worker died",
            "model": self.model,
            "pid": self.pid,
            "how": self.reason,
            "doing": self.beat.state.name.lower(),
            "request_ids": [] if is_idle else [unmark(call) for call in self.beat.calls],
            "picture": "" if is_idle else self.beat.picture,
            "stack": self.stack[-MAX_CHARACTERS:],
            "last_lines": [*self.lines][-LINES:],
        }
        return json.dumps(line)


MAX_ANSWER_S, ASKED_EVERY_S = 0.3, 0.01
"""Longest time that a hung worker gets to write down its Python stack. Most take some
milliseconds; on a busy machine the worker must first get a core."""
RETIRED_S = 2.0
"""Idle time after which a replaced worker is killed. Triton ends the workers that it has replaced,
but not when another of them died during a call."""
RELOAD_PAUSES_S = (1.0, 30.0)
"""First and longest pause before a model is loaded again whose loading failed: there may be no
memory for another worker now. Its other workers answer until then."""
MAX_DEATHS = 20
"""Deaths of workers after which the server should be restarted. Each dead worker leaves memory of
its model in Triton, and in shared memory, until Triton ends."""

logger = logging.getLogger(__name__)


def send_signal(pid: int, number: int) -> None:
    """Send a signal to a process, if it still exists."""
    with suppress(ProcessLookupError):
        os.kill(pid, number)


class WorkerMonitor:
    """Monitors the workers of one server.

    Args:
        workers: The workers of the server.
        reload: Replaces a model's workers.
        heartbeats: The workers' heartbeats.
        log: The output of the server and its workers.
        notify: Called for each death, before the worker's calls fail, and for each model that has
            new workers.
        clock: Returns the time in seconds.
        send: Sends a signal to a process.
    """

    def __init__(
        self,
        workers: Workers,
        reload: ModelReload,
        *,
        heartbeats: Heartbeats,
        log: ServerLog,
        notify: Callable[[Event], None],
        clock: Callable[[], float] = time.monotonic,
        send: Callable[[int, int], None] = send_signal,
    ) -> None:
        self._workers, self._reload, self._heartbeats = workers, reload, heartbeats
        self._log, self._notify, self._clock, self._send = log, notify, clock, send
        self._watchdog = Watchdog(heartbeats.read, clock)
        self._old: dict[str, set[int]] = {}  # workers that are being replaced, by model
        self._again: set[str] = set()  # models that lost a new worker in the meantime
        self._failed: dict[str, Backoff] = {}  # models that could not be loaded again
        self._idle_since_s: dict[int, float] = {}  # replaced workers; each idle since when
        self._deaths = 0

    def check(self) -> bool:
        """Check all workers once; return False when the server itself must be restarted."""
        try:
            for worker in self._workers.dead():
                beat = self._heartbeats.read(worker.pid)
                self._replace_lost(worker, worker.exit_reason, beat)
            workers = [*self._workers.alive(), *self._workers.itself()]
            known_workers = [*filter(self._workers.is_known, workers)]
            for worker, beat, reason in self._watchdog.find(known_workers):
                self._replace_lost(worker, reason, beat)
            self._end_retired()
            self._finish()
            self._retry_failed()
        except ServerError as error:
            logger.error("%s", error)
            return False
        return True

    def needs_restart(self) -> bool:
        """Tell whether the server should be restarted as soon as that interrupts no request."""
        return self._deaths >= MAX_DEATHS and not self._old

    def is_idle(self) -> bool:
        """Tell whether no worker has a call. A worker without a heartbeat counts as busy."""
        pids = [worker.pid for worker in self._workers.alive()]
        return all(map(self._heartbeats.exists, pids)) and all(map(self._has_no_call, pids))

    def close(self) -> None:
        self._reload.close()

    def _has_no_call(self, pid: int) -> bool:
        return self._heartbeats.read(pid).state is State.IDLE

    def _replace_lost(self, worker: Worker, reason: str, beat: Beat) -> None:
        """Report a lost worker, kill it if it still lives, and replace it.

        Raises:
            ServerError: The process is the server itself, or a worker whose model is unknown.
        """
        self._workers.forget(worker)
        if self._idle_since_s.pop(worker.pid, None) is not None and worker.exit_reason:
            return
        self._report(worker, reason, beat)
        self._deaths += 1
        if not worker.exit_reason:
            self._send(worker.pid, signal.SIGKILL)
        if worker.model in {"", SERVER}:
            raise ServerError(f"process {worker.pid} cannot be replaced alone")
        if self._reload.is_loading(worker.model):
            if worker.pid not in self._old[worker.model]:  # old ones are being replaced already
                self._again.add(worker.model)
        elif worker.model not in self._failed or not self._is_served(worker.model):
            self._replace(worker.model)

    def _report(self, worker: Worker, reason: str, beat: Beat) -> None:
        if not worker.exit_reason and not worker.is_stopped:
            self._ask_for_stack(worker)
        stack = self._heartbeats.read_stack(worker.pid)
        report = CrashReport(worker.model, worker.pid, reason, beat, stack, self._log.theirs())
        is_last = not self._is_served(worker.model)
        logger.error("%s", report.to_json())
        self._notify(WorkerDied(worker.model, reason, report.suspects, is_last))

    def _ask_for_stack(self, worker: Worker) -> None:
        """Let a worker write down its Python stack, and wait until it writes no more."""
        ends, before = time.monotonic() + MAX_ANSWER_S, ""
        self._send(worker.pid, ASK)
        while time.monotonic() < ends:
            time.sleep(ASKED_EVERY_S)
            stack = self._heartbeats.read_stack(worker.pid)
            if stack and stack == before:
                return
            before = stack

    def _replace(self, model: str) -> None:
        self._old[model] = {worker.pid for worker in self._workers.alive() if worker.model == model}
        self._reload.start(model, has_others=self._is_served(model))

    def _is_served(self, model: str) -> bool:
        """Tell whether at least one worker of the model answers."""
        workers = [worker for worker in self._workers.alive() if worker.model == model]
        return any(self._workers.is_known(worker) and not worker.is_stopped for worker in workers)

    def _finish(self) -> None:
        """Handle the ends of reloads.

        Raises:
            ServerError: A model could not be loaded, and none of its workers answers.
        """
        for model, error in self._reload.finish().items():
            old_pids = self._old.pop(model)
            needs_another = model in self._again
            self._again.discard(model)
            if error is not None:
                self._keep_others(model, error)
                continue
            logger.warning("%s has new workers", model)
            self._failed.pop(model, None)
            self._idle_since_s |= dict.fromkeys(old_pids, self._clock())
            if needs_another:
                self._replace(model)
            else:
                self._notify(WorkersReplaced(model))

    def _keep_others(self, model: str, error: ServerError) -> None:
        """Let the other workers of a model answer until it can be loaded again.

        Raises:
            ServerError: It has none.
        """
        if not self._is_served(model):
            raise error
        backoff = self._failed.setdefault(model, Backoff(*RELOAD_PAUSES_S, self._clock))
        message = "%s; its other workers answer, and it is loaded again in %.0f s"
        logger.error(message, error, backoff.fail())

    def _retry_failed(self) -> None:
        for model, backoff in self._failed.items():
            if backoff.is_over() and not self._reload.is_loading(model):
                self._replace(model)

    def _end_retired(self) -> None:
        here = [worker for worker in self._workers.alive() if worker.pid in self._idle_since_s]
        self._idle_since_s = {worker.pid: self._idle_since_s[worker.pid] for worker in here}
        now = self._clock()
        for worker in here:
            if not self._has_no_call(worker.pid):
                self._idle_since_s[worker.pid] = now
            elif now - self._idle_since_s[worker.pid] > RETIRED_S:
                del self._idle_since_s[worker.pid]
                self._workers.forget(worker)
                self._send(worker.pid, signal.SIGKILL)
