"""The gateway's processes: starts them, checks that they listen, and stops them."""

from __future__ import annotations

import logging
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from orchestrator.contract import SHM
from orchestrator.errors import ServerError
from orchestrator.host.heartbeat import Beat, Watchdog
from orchestrator.host.locked_folders import LockedFolder
from orchestrator.host.loopback import to_literal
from orchestrator.host.resources import keep_freed, usable_memory
from orchestrator.host.subprocesses import defer_stops, prepare_child, without_secrets
from orchestrator.serving.gateway.gateway_process import GatewayProcess
from orchestrator.serving.gateway.options import Address, GatewayOptions, to_json
from orchestrator.serving.protocol.gateway_events import (
    Event,
    TritonMoved,
    WorkerDied,
    event_to_json,
)
from orchestrator.triton.shared_metrics import VARIABLE as METRICS
from orchestrator.triton.shared_metrics import remove_gauges_of_dead

COMMAND = (sys.executable, "-m", "orchestrator.serving.gateway")
"""Command of one process."""
PACKAGES = Path(__file__).resolve().parents[3]
"""Folder of the package. `-m` searches it first, in any working directory."""
UNLESS_SET = {
    "GRPC_VERBOSITY": "NONE",  # gRPC would log the end of every connection
    "MALLOC_ARENA_MAX": "1",  # malloc_trim keeps the end of each other heap: up to 64 MB
}
"""Environment of a process, for variables that the operator has not set."""
START_TIMEOUT_S = 60.0
MAX_RESTARTS, RESTARTS_S = 5, 60.0
"""At most this many processes are replaced within this time. After that, only the others serve."""
logger = logging.getLogger(__name__)


@dataclass
class Gateway:
    """A running gateway. `start` makes one.

    Attributes:
        options: Options of the gateway.
        workers: Processes of the gateway.
        counts: Folder of the processes' shared metrics.
        command: Command of one process.
    """

    options: GatewayOptions
    workers: list[GatewayProcess]
    counts: LockedFolder
    command: Sequence[str] = COMMAND
    _last_move: TritonMoved | None = None
    _watchdog: Watchdog = field(init=False)
    _restarts_s: deque[float] = field(default_factory=lambda: deque(maxlen=MAX_RESTARTS))

    def __post_init__(self) -> None:
        self._watchdog = Watchdog(self._read_beat, time.monotonic)

    def monitor(self) -> bool:
        """Tell whether the gateway serves. A process that is lost beside others is replaced.

        A process that hangs is lost, too: it is ended.
        """
        running = [worker for worker in self.workers if worker.is_running()]
        for worker, _, reason in self._watchdog.find(running):
            logger.error("process %d of the gateway is ended: %s", worker.pid, reason)
            if not worker.is_stopped:
                worker.write_stack()
            worker.end()
        numbers = [i for i, worker in enumerate(self.workers) if not worker.is_running()]
        if len(numbers) == len(self.workers):
            for worker in self.workers:
                logger.error("process %d of the gateway ended: %s", worker.pid, worker.reason())
            return False
        for number in numbers:
            self._replace(number)
        return True

    def _read_beat(self, pid: int) -> Beat:
        return next(worker.beat() for worker in self.workers if worker.pid == pid)

    def _replace(self, number: int) -> None:
        """Start a process in the place of a lost one, unless that did not help lately."""
        now, worker = time.monotonic(), self.workers[number]
        worker.end()
        remove_gauges_of_dead(self.counts.folder)
        if len(self._restarts_s) == MAX_RESTARTS and now - self._restarts_s[0] < RESTARTS_S:
            return
        self._restarts_s.append(now)
        logger.error("one of the gateway's processes is replaced: %s", worker.reason())
        try:
            self.workers[number] = launch(self.command, self.options, self.counts)
        except ServerError as error:
            logger.error("%s", error)
            return
        if self._last_move:
            self.workers[number].write(event_to_json(self._last_move))
        self.workers[number].release()

    def wait_until_listening(self, timeout_s: float = START_TIMEOUT_S) -> None:
        """Wait until every address of the gateway accepts connections.

        Raises:
            ServerError: A process ended, or the gateway does not listen in time.
        """
        deadline = time.monotonic() + timeout_s
        for address in filter(None, (self.options.http, self.options.grpc, self.options.metrics)):
            while not _listens(address):
                self._check_running()
                if time.monotonic() > deadline:
                    raise ServerError(
                        f"gateway: does not listen at {address} within {timeout_s:.0f} s"
                    )
                time.sleep(0.05)
        self._check_running()
        for worker in self.workers:
            worker.release()

    def send(self, event: Event) -> None:
        """Send an event to all processes."""
        if isinstance(event, TritonMoved):
            self._last_move = event
        for number, worker in enumerate(self.workers):
            if isinstance(event, WorkerDied):
                event = replace(event, is_counted=not number)
            worker.write(event_to_json(event))

    def _check_running(self) -> None:
        for worker in self.workers:
            if not worker.is_running():
                raise ServerError(f"gateway: ended while starting: {worker.reason()}")

    def stop(self, timeout_s: float = 20.0) -> None:
        """Stop the gateway. Calls in work are answered first, as far as the timeout allows."""
        deadline = time.monotonic() + timeout_s
        with defer_stops():
            for worker in filter(GatewayProcess.is_running, self.workers):
                worker.process.send_signal(signal.SIGTERM)
            for worker in self.workers:
                worker.end(deadline - time.monotonic())
            self.counts.remove()


def start(options: GatewayOptions, command: Sequence[str] = COMMAND) -> Gateway:
    """Start the gateway and wait until it listens.

    Args:
        options: Options of the gateway.
        command: Command of one process, which reads the options from standard input.

    Raises:
        ServerError: The gateway cannot be started; the message says why.
    """
    counts = LockedFolder.make("gateway-", SHM)
    gateway = Gateway(options, [], counts, command)
    try:
        for _ in range(options.processes):
            gateway.workers.append(launch(command, options, counts))
        gateway.wait_until_listening()
    except BaseException:
        gateway.stop(timeout_s=1)  # no call is in work yet
        raise
    return gateway


def launch(command: Sequence[str], options: GatewayOptions, counts: LockedFolder) -> GatewayProcess:
    """Start one process and send it its options.

    Raises:
        ServerError: The process cannot be started.
    """
    worker = GatewayProcess(_run(command, options, counts))
    worker.write(to_json(options))
    return worker


def _run(
    command: Sequence[str], options: GatewayOptions, counts: LockedFolder
) -> subprocess.Popen[str]:
    metrics_env = {METRICS: str(counts.folder)} if options.processes > 1 else {}
    try:
        return subprocess.Popen(
            command,
            env={**UNLESS_SET, **keep_freed(usable_memory()), **without_secrets(), **metrics_env},
            cwd=PACKAGES,
            pass_fds=(counts.children,),
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,  # Ctrl-C is ours to handle
            preexec_fn=prepare_child,
        )
    except OSError as error:
        raise ServerError(f"gateway: {command[0]} cannot be run: {error.strerror}") from error


def _listens(address: Address) -> bool:
    try:
        socket.create_connection((to_literal(address.host), address.port), timeout=1).close()
    except OSError:
        return False
    return True
