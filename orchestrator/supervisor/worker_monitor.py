"""The watchdog of a server's workers: finds dead and hung workers, and replaces them."""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from orchestrator.errors import ServerError
from orchestrator.supervisor.crash_report import ModelReloaded, WorkerDeath
from orchestrator.supervisor.model_reload import ModelReload
from orchestrator.supervisor.server_log import ServerLog
from orchestrator.supervisor.watchdog import Watchdog
from orchestrator.supervisor.workers import SERVER, Worker, Workers
from orchestrator.system.heartbeat import ASK, Beat, State, is_told, read, read_stack

ANSWER_S = 0.05
"""Time that a worker gets to write down its Python stack."""
RETIRED_S = 2.0
"""Idle time after which a replaced worker is killed. Triton ends the workers that it has replaced,
but not when another of them died during a call."""
MOST_DEATHS = 20
"""Deaths of workers after which the server should be restarted. Each dead worker leaves memory of
its model in Triton, and in shared memory, until Triton ends."""

logger = logging.getLogger(__name__)


class WorkerMonitor:
    """The watchdog of one server.

    Args:
        workers: The workers of the server.
        replacing: Replaces a model's workers.
        prefix: Prefix of the paths of the workers' heartbeats, see `orchestrator.system.heartbeat`.
        log: The output of the server and its workers.
        tell: Called for each death, before the worker's calls fail, and for each model that has new
            workers.
    """

    def __init__(
        self,
        workers: Workers,
        replacing: ModelReload,
        *,
        prefix: str,
        log: ServerLog,
        tell: Callable[[WorkerDeath | ModelReloaded], None],
    ) -> None:
        self._workers, self._replacing, self._prefix = workers, replacing, prefix
        self._log, self._tell = log, tell
        self._hangs = Watchdog(partial(read, prefix), time.monotonic)
        self._old: dict[str, set[int]] = {}  # workers that are being replaced, by model
        self._again: set[str] = set()  # models that lost a new worker in the meantime
        self._retired: dict[int, float] = {}  # replaced workers; each idle since when
        self._deaths = 0

    def look(self) -> bool:
        """Check all workers once; return False when the server itself must be restarted."""
        try:
            for worker in self._workers.dead():
                self._lose(worker, worker.end, read(self._prefix, worker.pid))
            everybody = [*self._workers.alive(), *self._workers.itself()]
            for worker, beat, how in self._hangs.find([*filter(self._workers.is_known, everybody)]):
                self._lose(worker, how, beat)
            self._end_retired()
            self._finish()
        except ServerError as error:
            logger.error("%s", error)
            return False
        return True

    def is_worn(self) -> bool:
        """Tell whether the server should be restarted as soon as that interrupts no request."""
        return self._deaths >= MOST_DEATHS and not self._old

    def is_idle(self) -> bool:
        """Tell whether no worker has a call; a worker without a heartbeat may have one."""
        pids = [worker.pid for worker in self._workers.alive()]
        return all(is_told(self._prefix, pid) for pid in pids) and all(
            read(self._prefix, pid).state is State.IDLE for pid in pids
        )

    def close(self) -> None:
        self._replacing.close()

    def _lose(self, worker: Worker, how: str, beat: Beat) -> None:
        """Report a lost worker, kill it if it still lives, and replace it.

        Raises:
            ServerError: The process is the server itself, or a worker whose model is unknown.
        """
        self._workers.forget(worker)
        if self._retired.pop(worker.pid, None) and worker.end:
            return
        if not worker.end and not worker.is_stopped:
            _send(worker.pid, ASK)
            time.sleep(ANSWER_S)
        stack, lines = read_stack(self._prefix, worker.pid), self._log.theirs()
        is_last = not self._is_served(worker.model)
        death = WorkerDeath(worker.model, worker.pid, how, beat, stack, lines, is_last)
        logger.error("%s", death.to_json())
        self._tell(death)
        self._deaths += 1
        if not worker.end:
            _send(worker.pid, signal.SIGKILL)
        if worker.model in {"", SERVER}:
            raise ServerError(f"process {worker.pid} cannot be replaced alone")
        if not self._replacing.is_under_way(worker.model):
            self._replace(worker.model)
        elif worker.pid not in self._old[worker.model]:  # old workers are being replaced already
            self._again.add(worker.model)

    def _replace(self, model: str) -> None:
        self._old[model] = {one.pid for one in self._workers.alive() if one.model == model}
        self._replacing.begin(model, has_others=self._is_served(model))

    def _is_served(self, model: str) -> bool:
        """Tell whether at least one worker of the model answers."""
        others = [one for one in self._workers.alive() if one.model == model]
        return any(self._workers.is_known(one) and not one.is_stopped for one in others)

    def _finish(self) -> None:
        for model in self._replacing.finish():
            logger.warning("%s has new workers", model)
            self._retired |= dict.fromkeys(self._old.pop(model), time.monotonic())
            if model in self._again:
                self._again.remove(model)
                self._replace(model)
            else:
                self._tell(ModelReloaded(model))

    def _end_retired(self) -> None:
        here = [worker for worker in self._workers.alive() if worker.pid in self._retired]
        self._retired = {worker.pid: self._retired[worker.pid] for worker in here}
        now = time.monotonic()
        for worker in here:
            if read(self._prefix, worker.pid).state is not State.IDLE:
                self._retired[worker.pid] = now
            elif now - self._retired[worker.pid] > RETIRED_S:
                del self._retired[worker.pid]
                self._workers.forget(worker)
                _send(worker.pid, signal.SIGKILL)


def _send(pid: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)
