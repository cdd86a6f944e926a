"""Keeps a running server's workers alive: finds the dead and the hung, and replaces them."""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from orchestrator.errors import ServerError
from orchestrator.heartbeat import ASK, Beat, State, is_told, read, read_stack
from orchestrator.server.deaths import Death
from orchestrator.server.hangs import Hangs
from orchestrator.server.log import Log
from orchestrator.server.replacing import Replacing
from orchestrator.server.workers import Worker, Workers

ANSWER_S = 0.05
"""For a worker to write down where it is."""

logger = logging.getLogger(__name__)


class Care:
    """Looks after one server.

    Args:
        workers: The server's.
        replacing: Replaces a model's workers.
        prefix: Of what its workers write down, see `orchestrator.heartbeat`.
        log: What they wrote.
        tell: Is told of each death, and that the workers are replaced.
    """

    def __init__(
        self,
        workers: Workers,
        replacing: Replacing,
        *,
        prefix: str,
        log: Log,
        tell: Callable[[Death], None],
    ) -> None:
        self._workers, self._replacing, self._prefix = workers, replacing, prefix
        self._log, self._tell = log, tell
        self._hangs = Hangs(partial(read, prefix), time.monotonic)

    def look(self) -> bool:
        """Look once; False when the server itself must be started again."""
        for worker in self._workers.dead():
            self._workers.forget(worker)
            if not self._lose(worker, worker.end, read(self._prefix, worker.pid)):
                return False
        alive = self._workers.alive()
        for worker, beat, how in self._hangs.find(alive):
            self._workers.forget(worker)
            if not self._lose(worker, how, beat):
                return False
        return self._has_replaced()

    def is_idle(self) -> bool:
        """Tell whether no worker has a call; one that does not say what it does may have one."""
        pids = [worker.pid for worker in self._workers.alive()]
        return all(is_told(self._prefix, pid) for pid in pids) and all(
            read(self._prefix, pid).state is State.IDLE for pid in pids
        )

    def close(self) -> None:
        self._replacing.close()

    def _lose(self, worker: Worker, how: str, beat: Beat) -> bool:
        """Tell of a worker, end it where it lives, and replace it; False where nobody can."""
        if not worker.end and not worker.is_stopped:
            _send(worker.pid, ASK)
            time.sleep(ANSWER_S)
        stack, lines = read_stack(self._prefix, worker.pid), self._log.theirs()
        death = Death(worker.model, worker.pid, how, beat, stack, lines)
        logger.error("%s", death.to_json())
        self._tell(death)  # before its calls fail: who sent them can look up why
        if not worker.end:
            _send(worker.pid, signal.SIGKILL)
        if not worker.model:
            return False
        others = {
            one.pid
            for one in self._workers.alive()
            if one.model == worker.model and not one.is_stopped
        }
        self._replacing.begin(worker.model, has_others=bool(others - {worker.pid}))
        return True

    def _has_replaced(self) -> bool:
        try:
            replaced = self._replacing.finish()
        except ServerError as error:
            logger.error("%s", error)
            return False
        for model in replaced:
            logger.warning("%s has new workers", model)
        return True


def _send(pid: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)
