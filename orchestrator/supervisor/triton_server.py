"""The process of a local Triton: starts it, waits until it is ready, and stops it completely."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.errors import ServerError
from orchestrator.supervisor.command import command, environment
from orchestrator.supervisor.cpu_priority import begin_slowly, hurry
from orchestrator.supervisor.crash_report import ModelReloaded, WorkerDeath
from orchestrator.supervisor.distribution import find_distribution, lay_out_backends
from orchestrator.supervisor.hidden_key import hide
from orchestrator.supervisor.layout import lay_out
from orchestrator.supervisor.model_reload import ModelReload
from orchestrator.supervisor.models import list_models
from orchestrator.supervisor.options import ServerOptions
from orchestrator.supervisor.preflight import check
from orchestrator.supervisor.readiness import is_ready
from orchestrator.supervisor.repository import MODELS, check_models, holds_plates
from orchestrator.supervisor.runtime import Runtime, writing
from orchestrator.supervisor.server_log import ServerLog
from orchestrator.supervisor.worker_monitor import WorkerMonitor
from orchestrator.supervisor.workers import Workers, manner
from orchestrator.system.oom_score import raise_score
from orchestrator.system.subprocesses import begin_child, ignore_stops, reap_group

IDLE_S = 0.5
"""Time without a call in any worker after which Triton's queues are empty, too."""

LOOK_S = 0.05
"""Time between two checks whether the server is idle or has ended."""
STOP_S = 20.0
"""Longest wait for the calls in progress when the server is stopped."""

LIST_EVERY_S = 0.5
"""Longest age of the list of workers. A serving server gets new workers only to replace lost
ones."""

Tell = Callable[[WorkerDeath | ModelReloaded], None]

logger = logging.getLogger(__name__)


def ignore(_event: WorkerDeath | ModelReloaded) -> None:
    """Ignore the event; it is in the log already."""


@dataclass
class Server:
    """A running server; use `start` or `run_server`.

    Attributes:
        options: The options of its start.
        process: The process of tritonserver.
        runtime: Its files on disk and in shared memory.
        models: The models that it loads at its start.
        ours: The repository, if only this process writes to it.
        tell: Called for each worker that dies, and for each model that has new workers.
        log: The output of the server and its workers.
    """

    options: ServerOptions
    process: subprocess.Popen[str]
    runtime: Runtime
    models: tuple[str, ...] = MODELS
    ours: Path | None = None
    tell: Tell = ignore
    log: ServerLog = field(default_factory=ServerLog)

    def __post_init__(self) -> None:
        self._workers = Workers(self.process.pid)
        self._care = WorkerMonitor(
            self._workers,
            ModelReload(self.options, self.ours),
            prefix=self.runtime.heartbeats,
            log=self.log,
            tell=self.tell,
        )
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    @property
    def shm_prefix(self) -> str:
        return self.runtime.shm_prefix

    def is_running(self) -> bool:
        return self.process.poll() is None

    def tend(self) -> bool:
        """Replace dead and hung workers; return False when the server must be restarted.

        Regular calls also close the shared memory of each new worker to other users.
        """
        self.runtime.close_shared_memory()
        if not self.is_running():
            logger.error("tritonserver ended (%s): %s", self._manner(), self.reason())
            return False
        return self._care.look()

    def is_worn(self) -> bool:
        """Tell whether so many of its workers died that it should be restarted."""
        return self._care.is_worn()

    def wait_until_ready(self, meanwhile: Callable[[], None]) -> None:
        """Return when every model answers; call `meanwhile` again and again until then.

        Raises:
            ServerError: The server or a worker ended, a model could not be loaded, or the server
                was not ready in time.
        """
        deadline = time.monotonic() + self.options.start_timeout_s
        while not is_ready(self.options, self.models):
            if trouble := self._trouble():
                raise ServerError(trouble)
            if time.monotonic() > deadline:
                limit_s = self.options.start_timeout_s
                raise ServerError(
                    f"tritonserver: not ready within {limit_s:.0f} s; {self.reason()}"
                )
            meanwhile()
            time.sleep(0.1)
        self.runtime.close_shared_memory()
        self._workers.list_every_s = LIST_EVERY_S
        self.log.release()

    def reason(self) -> str:
        """Return, on one line, the best explanation of the server's failure."""
        return self.log.reason()

    def _trouble(self) -> str:
        """Return why the server will never be ready; empty while it still may be."""
        if dead := self._workers.dead():
            words = self.log.last_words()
            whose, how = dead[0].model or "a model", dead[0].end
            return f"the worker of {whose} died while starting ({how}){words and f': {words}'}"
        is_running = self.is_running()
        if not is_running:
            self._listener.join(1)  # its last lines may still be on the way
        if unloaded := self.log.find_unloaded():
            model, why = unloaded
            return f"{model}: cannot be loaded: {why or self._worker_died()}"
        if is_running:
            return ""
        return f"tritonserver ended while starting ({self._manner()}): {self.reason()}"

    def _manner(self) -> str:
        return manner(self.process.returncode)

    def _worker_died(self) -> str:
        words = self.log.last_words()
        return f"a worker that died{words and f': {words}'}"

    def _listen(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr as lines:
            self.log.follow(lines)

    def retire(self, timeout_s: float = 10.0, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Stop a server when its clients have a new one, after their last calls are answered.

        A Triton that is told to stop while calls still come rejects the calls that models make to
        each other for requests in progress.

        Args:
            timeout_s: Longest wait; clients that call this very server may never let it be idle.
            meanwhile: Looks after other services; called again and again. Its errors are raised
                after the server's end.
        """
        try:
            self._wait_until_idle(timeout_s, meanwhile)
            self._ask_to_end(STOP_S, meanwhile)
        except BaseException:
            self.stop()
            raise
        with ignore_stops():
            self._remove()

    def stop(self, timeout_s: float = STOP_S) -> None:
        """Stop the server and its workers, and remove what they leave behind."""
        with ignore_stops():
            self._ask_to_end(timeout_s)
            self._remove()

    def _ask_to_end(self, timeout_s: float, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Return when the server may be killed."""
        self._care.close()
        if self.is_running():
            self.process.send_signal(signal.SIGTERM)
            if not self._wait_for_end(timeout_s, meanwhile):
                logger.warning("tritonserver did not end within %.0f s; killing it", timeout_s)

    def _remove(self) -> None:
        with contextlib.suppress(ProcessLookupError):  # workers of a server that died
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        reap_group(self.process.pid)
        self.runtime.remove()

    def _wait_for_end(self, timeout_s: float, meanwhile: Callable[[], None]) -> bool:
        """Return when it ended or may be killed; False if calls were in progress until the end.

        Triton waits ten seconds for clients that keep an idle connection. This is not needed once
        every call is answered, unless Triton has traces to send.
        """
        if not self.options.traces:
            return self._wait_until_idle(timeout_s, meanwhile)
        deadline = time.monotonic() + timeout_s
        while self.is_running() and time.monotonic() < deadline:
            meanwhile()
            time.sleep(LOOK_S)
        return not self.is_running()

    def _wait_until_idle(self, timeout_s: float, meanwhile: Callable[[], None]) -> bool:
        """Return True when no worker has had a call for a while, or all ended; False before."""
        now = time.monotonic()
        deadline, busy = now + timeout_s, now
        while now < deadline and self.is_running():
            if not self._care.is_idle():
                busy = now
            if now - busy > IDLE_S:
                return True
            meanwhile()
            time.sleep(LOOK_S)
            now = time.monotonic()
        return not self.is_running()


LayOut = Callable[[ServerOptions, Path], Path]
"""A function that writes the model repository of a server into a folder, and returns it."""


def lay_out_ours(options: ServerOptions, target: Path) -> Path:
    """Write our models for the options' engine, the machine's cores and the country's plates."""
    return lay_out(options.source(), target, options.capacity())


def leave_as_it_lies(options: ServerOptions, target: Path) -> Path:
    """Leave the repository in its place: its owner adds versions while it is served."""
    if holds_plates(options.repository):
        check_models(options.repository)
    return options.repository


def start(
    options: ServerOptions,
    models: LayOut | None = None,
    tell: Tell = ignore,
    *,
    meanwhile: Callable[[], None] | None = None,
) -> Server:
    """Start the server and wait until every model is ready.

    Args:
        options: Options of the server.
        models: Writes the repository to serve; None means ours.
        tell: Called for each worker that dies once the server serves, and for each model that has
            new workers.
        meanwhile: Looks after the server that still serves; called again and again until the new
            one is ready. The cores are left to the old one. An error of this function ends the
            start.

    Raises:
        ServerError: The server cannot be started; the message gives the reason.
    """
    distribution = find_distribution(options.tritonserver)
    options = check(options)
    runtime = Runtime.make()
    try:
        ours = (models or _choose(options))(options, runtime.folder / "repository")
        repositories = [runtime.plain(folder) for folder in (ours, *options.beside)]
        with writing():
            engine = options.choose_engine()
            backends = lay_out_backends(distribution, runtime.folder, engine)
            variables = environment(options, distribution, runtime)
        is_beside = meanwhile is not None
        line = command(
            options,
            distribution,
            repositories,
            backends,
            runtime.shm_prefix,
            one_by_one=is_beside,
        )
        begin = begin_slowly if is_beside else begin_child
        process = _launch(line, variables, runtime, begin)
        raise_score(process.pid)  # long before it starts a worker, which inherits the score
        loaded = _loaded_models(options, repositories)
        mine = ours if options.is_made_here else None
        server = Server(options, process, runtime, loaded, mine, tell)
    except BaseException:
        runtime.remove()
        raise
    try:
        hide(process, [options.admin_key, options.caller_key])
        server.wait_until_ready(meanwhile or (lambda: None))
    except BaseException:
        server.stop(timeout_s=1)  # no request is in progress yet
        raise
    hurry(process.pid)
    return server


def _choose(options: ServerOptions) -> LayOut:
    return lay_out_ours if options.is_made_here else leave_as_it_lies


def _loaded_models(options: ServerOptions, repositories: Sequence[Path]) -> tuple[str, ...]:
    """Return the models that the server loads at its start."""
    if options.explicit:
        return MODELS if holds_plates(options.repository) else ()
    return tuple(name for folder in repositories for name in list_models(folder))


def _launch(
    line: list[str], variables: dict[str, str], runtime: Runtime, begin: Callable[[], None]
) -> subprocess.Popen[str]:
    try:
        return subprocess.Popen(
            line,
            env=variables,
            cwd=runtime.folder,  # workers look for modules there first
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            pass_fds=runtime.inherited,
            start_new_session=True,  # this process handles Ctrl-C
            preexec_fn=begin,
        )
    except OSError as error:
        raise ServerError(f"{line[0]}: cannot be run: {error.strerror}") from error


@contextlib.contextmanager
def run_server(options: ServerOptions, models: LayOut | None = None) -> Iterator[Server]:
    """Run a server for the length of a `with` block."""
    server = start(options, models)
    try:
        yield server
    finally:
        server.stop()
