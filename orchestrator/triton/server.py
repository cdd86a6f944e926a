"""A local Triton Inference Server: start it, see that it answers, stop it without a trace."""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
import signal
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.contract import COMPONENTS, MODEL
from orchestrator.errors import PlateError, ServerError
from orchestrator.retries import Retries
from orchestrator.triton.distribution import (
    command,
    environment,
    find_distribution,
    lay_out_backends,
)
from orchestrator.triton.options import (
    SHM,
    ServerOptions,
    check_device,
    check_ports,
    check_shared_memory,
    check_texts,
)
from orchestrator.triton.repository import check, lay_out

AGAIN = Retries(times=5, first_s=1.0, longest_s=30.0)
"""A start may fail for want of memory or a port, which what died has not given back yet."""
BURIAL_S = 0.1  # Triton's, for a worker that it has ended
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)
TELLING = ("E", "{")  # Triton's errors and our failed requests
NOISE = ("CudaDriverHelper", "NVML", "DCGM")  # what Triton says where there is no GPU

logger = logging.getLogger(__name__)


@dataclass
class Server:
    """A running server; use `start` or `running`."""

    options: ServerOptions
    process: subprocess.Popen[str]
    runtime: tempfile.TemporaryDirectory[str]
    shm_prefix: str
    log: deque[str] = field(default_factory=lambda: deque(maxlen=200))

    def is_running(self) -> bool:
        return self.process.poll() is None

    def is_whole(self) -> bool:
        """Tell whether the server runs and none of its workers has died.

        Triton neither restarts a worker that died nor says so in its readiness. It does not even
        bury it, as it does those that it ends itself.
        """
        dead = _zombies(self.process.pid)
        if dead:
            time.sleep(BURIAL_S)
            dead &= _zombies(self.process.pid)
        return self.is_running() and not dead

    def wait_until_ready(self) -> None:
        """Return when every model answers.

        Raises:
            ServerError: The server ended or did not become ready in time.
        """
        deadline = time.monotonic() + self.options.start_timeout_s
        while not is_ready(self.options):
            if not self.is_running():
                raise ServerError(f"tritonserver ended while starting: {self.reason()}")
            if time.monotonic() > deadline:
                raise ServerError(
                    f"tritonserver: wanted ready within {self.options.start_timeout_s:.0f} s, "
                    f"got no answer; {self.reason()}"
                )
            time.sleep(0.1)

    def reason(self) -> str:
        """Return the log line that tells best why the server is in trouble."""
        telling = ("failed to load '", "error: ", "failed to start")
        lines = [line for mark in telling for line in self.log if mark in line]
        return (lines or [*self.log][-1:] or ["it left no message"])[0].strip()

    def stop(self, timeout_s: float = 20.0) -> None:
        """End the server and its workers and remove what they leave behind."""
        with _uninterrupted():
            self._stop(timeout_s)

    def _stop(self, timeout_s: float) -> None:
        if self.is_running():
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(timeout_s)
            except subprocess.TimeoutExpired:
                logger.warning("tritonserver did not end within %.0f s; killing it", timeout_s)
        with contextlib.suppress(ProcessLookupError):  # workers of a server that died
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for region in SHM.glob(f"{self.shm_prefix}*"):
            region.unlink(missing_ok=True)
        self.runtime.cleanup()


LayOut = Callable[[ServerOptions, Path], Path]
"""Writes the model repository that a server is to read into a folder, and returns it."""


def laid_out(options: ServerOptions, target: Path) -> Path:
    """Write our models for the options' engine and the machine's cores."""
    return lay_out(options.repository, target, options.chosen_engine(), options.capacity())


def as_it_lies(options: ServerOptions, target: Path) -> Path:
    """Leave the repository where it is: its owner adds versions to it while it is served."""
    check(options.repository)
    return options.repository


def start(options: ServerOptions, models: LayOut | None = None) -> Server:
    """Start the server and wait until every model is ready.

    Args:
        options: How to start it.
        models: What it serves; ours when None.

    Raises:
        ServerError: It cannot be started; the message says why.
    """
    distribution = find_distribution()
    check_texts(options)
    check_device(options.device)
    check_ports(options)
    check_shared_memory(options)
    runtime = tempfile.TemporaryDirectory(prefix="plates-")
    shm_prefix = f"plates_{os.getpid()}_{time.monotonic_ns()}_"
    try:
        models = models or (as_it_lies if options.explicit else laid_out)
        repository = models(options, Path(runtime.name, "repository"))
        backends = lay_out_backends(distribution, Path(runtime.name))
        process = _launch(
            command(options, distribution, repository, backends, shm_prefix),
            environment(options, distribution),
        )
    except BaseException:
        runtime.cleanup()
        raise
    server = Server(options, process, runtime, shm_prefix)
    threading.Thread(target=_follow, args=(server,), daemon=True).start()
    try:
        server.wait_until_ready()
    except BaseException:
        server.stop()
        raise
    return server


def _launch(line: list[str], variables: dict[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        line,
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,  # Ctrl-C is ours to handle
        preexec_fn=_end_with_parent,
    )


@contextlib.contextmanager
def running(options: ServerOptions, models: LayOut | None = None) -> Iterator[Server]:
    """Run a server for the length of a `with` block."""
    server = start(options, models)
    try:
        yield server
    finally:
        server.stop()


def keep_running(server: Server, options: ServerOptions) -> None:
    """Watch a server and replace it when it or one of its workers dies, until interrupted.

    Raises:
        ServerError: It cannot be started again.
    """
    try:
        while True:
            time.sleep(0.5)
            if not server.is_whole():
                logger.error("the server or one of its workers died; starting again")
                server.stop(timeout_s=1)
                server = AGAIN.call(lambda: start(options), on_retry=_note_failed_start)
                logger.warning("the server is ready again")
    finally:
        server.stop()


def _note_failed_start(error: PlateError) -> None:
    logger.error("%s; trying once more", error)


def is_ready(options: ServerOptions) -> bool:
    """Tell whether the server and every model say that they are ready."""
    paths = ["health/ready", *(f"models/{name}/ready" for name in (MODEL, *COMPONENTS))]
    return all(_answers(f"http://{options.http_url}/v2/{path}") for path in paths)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _follow(server: Server) -> None:
    """Keep the end of the server's log and pass it on."""
    assert server.process.stderr is not None
    with server.process.stderr as lines:
        for line in lines:
            server.log.append(line)
            is_error = line.startswith(TELLING) and not any(part in line for part in NOISE)
            logger.log(logging.ERROR if is_error else logging.DEBUG, "%s", line.rstrip())


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Let an impatient second Ctrl-C not leave half of the server behind."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, signal.SIG_IGN) for number in STOP_SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _zombies(pid: int) -> frozenset[int]:
    """Return the child processes of a process that have ended and that it has not waited for."""
    dead = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it may end while we look
            state, parent = stat.read_text().rpartition(")")[2].split()[:2]
            if int(parent) == pid and state == "Z":
                dead.add(int(stat.parent.name))
    return frozenset(dead)


def _end_with_parent() -> None:
    """Ask the kernel to end the server when this process is killed."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGTERM)
