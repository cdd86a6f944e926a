"""Ends the processes of a Triton: after its last calls, or at once."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress

from orchestrator.host.subprocesses import reap_group

IDLE_S = 0.5
"""Time without a call in any worker after which Triton's queues are empty, too."""
CHECK_S = 0.05
"""Time between two checks whether the server is idle or has ended."""

logger = logging.getLogger(__name__)


def do_nothing() -> None:
    """Do nothing while a server is waited for."""


class Shutdown:
    """Ends the processes of one server.

    Args:
        process: The process of tritonserver, the leader of a process group.
        is_idle: Tells whether no worker has a call.
        sends_traces: The server may have traces to send after its last call.
        clock: Returns the time in seconds.
        sleep: Waits for a number of seconds.
    """

    def __init__(
        self,
        process: subprocess.Popen[str],
        is_idle: Callable[[], bool],
        *,
        sends_traces: bool = False,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._process, self._is_idle, self._sends_traces = process, is_idle, sends_traces
        self._clock, self._sleep = clock, sleep

    def wait_until_idle(self, timeout_s: float, on_wait: Callable[[], None] = do_nothing) -> bool:
        """Wait until no worker has had a call for a while, or the server has ended.

        Args:
            timeout_s: Longest wait.
            on_wait: Called again and again while this waits.

        Returns:
            False if calls were in progress until the timeout.
        """
        now = self._clock()
        deadline, busy = now + timeout_s, now
        while now < deadline and self._is_running():
            if not self._is_idle():
                busy = now
            if now - busy > IDLE_S:
                return True
            on_wait()
            self._sleep(CHECK_S)
            now = self._clock()
        return not self._is_running()

    def terminate(self, timeout_s: float, on_wait: Callable[[], None] = do_nothing) -> None:
        """Ask the server to end, and return when it may be killed; see `wait_until_idle`.

        Triton waits ten seconds for clients that keep an idle connection. This is not needed once
        every call is answered, unless Triton has traces to send.
        """
        if not self._is_running():
            return
        self._process.send_signal(signal.SIGTERM)
        wait = self._wait_until_ended if self._sends_traces else self.wait_until_idle
        if not wait(timeout_s, on_wait):
            logger.warning("tritonserver did not end within %.0f s; killing it", timeout_s)

    def kill(self) -> None:
        """Kill the server and its workers, and reap them."""
        with suppress(ProcessLookupError):  # workers of a server that died
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        reap_group(self._process.pid)

    def _wait_until_ended(self, timeout_s: float, on_wait: Callable[[], None]) -> bool:
        deadline = self._clock() + timeout_s
        while self._is_running() and self._clock() < deadline:
            on_wait()
            self._sleep(CHECK_S)
        return not self._is_running()

    def _is_running(self) -> bool:
        return self._process.poll() is None
