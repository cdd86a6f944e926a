"""Starts a Triton: writes its folder, runs its program, and waits until it is ready."""

from __future__ import annotations

import errno
import http.client
import os
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.errors import ServerError
from orchestrator.host.loopback import open_url
from orchestrator.host.resources import raise_score
from orchestrator.host.subprocesses import prepare_child
from orchestrator.serving.protocol.gateway_events import Event
from orchestrator.serving.supervisor.installation import find_installation, lay_out_backends
from orchestrator.serving.supervisor.launch.command import command, environment
from orchestrator.serving.supervisor.launch.shutdown import do_nothing
from orchestrator.serving.supervisor.launch.triton_process import (
    hide,
    prepare_slow_child,
    restore_priority,
)
from orchestrator.serving.supervisor.models.model_repository import list_models
from orchestrator.serving.supervisor.models.plate_models import MODELS, holds_plates, models_of
from orchestrator.serving.supervisor.models.repository_writer import RepositoryWriter, choose_writer
from orchestrator.serving.supervisor.options import ServerOptions
from orchestrator.serving.supervisor.preflight import check
from orchestrator.serving.supervisor.server_folder import ServerFolder, writing
from orchestrator.serving.supervisor.triton_server import Server, ignore

if TYPE_CHECKING:
    from orchestrator.serving.supervisor.triton_server import Server


def start(
    options: ServerOptions,
    models: RepositoryWriter | None = None,
    notify: Callable[[Event], None] = ignore,
    *,
    on_wait: Callable[[], None] | None = None,
) -> Server:
    """Start the server and wait until every model is ready.

    Args:
        options: Options of the server, which `preflight.check` has accepted.
        models: Writes the repository to serve; None means ours.
        notify: Called for each worker that dies once the server serves, and for each model that
            has new workers.
        on_wait: Monitors the server that still serves; called again and again until the new one
            is ready. The cores are left to the old one. An error of this function ends the start.

    Raises:
        ServerError: The server cannot be started; the message gives the reason.
    """
    server = _launch(options, models or choose_writer(options), notify, is_beside=bool(on_wait))
    try:
        hide(server.process, [options.admin_key, options.caller_key])
        wait_until_ready(server, on_wait or do_nothing)
        server.begin_serving()
    except BaseException:
        server.stop(timeout_s=1)  # no request is in progress yet
        raise
    restore_priority(server.process.pid)
    return server


@contextmanager
def run_server(options: ServerOptions, models: RepositoryWriter | None = None) -> Iterator[Server]:
    """Check that this machine can run a server, and run it for the length of a `with` block."""
    server = start(check(options), models)
    try:
        yield server
    finally:
        server.stop()


def _launch(
    options: ServerOptions,
    write: RepositoryWriter,
    notify: Callable[[Event], None],
    *,
    is_beside: bool,
) -> Server:
    """Write a server's folder and run its program, beside another server or alone."""
    installation = find_installation(options.tritonserver)
    folder = ServerFolder.make()
    try:
        ours = write(options, folder.path / "repository")
        repositories = [folder.plain(repository) for repository in (ours, *options.beside)]
        models = _loaded_models(options, repositories)
        with writing():
            backends = lay_out_backends(installation, folder.path)
            variables = environment(options, installation, folder)
        line = command(
            options, installation, repositories, backends, folder.shm_prefix, one_by_one=is_beside
        )
        process = _run(line, variables, folder, prepare_slow_child if is_beside else prepare_child)
        raise_score(process.pid)  # long before it starts a worker, which inherits the score
        return Server(
            options, process, folder, models, ours if options.is_made_here else None, notify
        )
    except BaseException:
        folder.remove()
        raise


def _loaded_models(options: ServerOptions, repositories: Sequence[Path]) -> tuple[str, ...]:
    """Return the models that the server loads at its start."""
    if options.explicit:
        return models_of(options.repository) if holds_plates(options.repository) else ()
    return tuple(name for folder in repositories for name in list_models(folder))


def _run(
    line: list[str], variables: dict[str, str], folder: ServerFolder, prepare: Callable[[], None]
) -> subprocess.Popen[str]:
    try:
        return subprocess.Popen(
            line,
            env=variables,
            cwd=folder.path,  # workers look for modules there first
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            pass_fds=folder.inherited_descriptors,
            start_new_session=True,  # this process handles Ctrl-C
            preexec_fn=prepare,
        )
    except OSError as error:
        raise ServerError(f"{line[0]}: cannot be run: {error.strerror}") from error


CHECK_S = 0.1
"""Time between two checks whether the server is ready."""
ENDED_WELL = "exit status 0"
NO_THREAD = os.strerror(errno.EAGAIN)
"""Reason of a thread or process that the system does not start, in the words of every library."""


def is_ready(options: ServerOptions, models: Iterable[str] = MODELS) -> bool:
    """Tell whether the server and the models say that they are ready."""
    paths = ["health/ready", *(f"models/{name}/ready" for name in models)]
    return all(_answers(f"http://{options.http_url}/v2/{path}") for path in paths)


def wait_until_ready(server: Server, on_wait: Callable[[], None]) -> None:
    """Return when every model answers; call `on_wait` again and again until then.

    Raises:
        ServerError: The server or a worker ended, a model could not be loaded, or the server was
            not ready in time.
    """
    limit_s = server.options.longest_start_s
    deadline = time.monotonic() + limit_s
    while not is_ready(server.options, server.models):
        if failure := find_failure(server):
            advice = "; the limit of processes is too low: docs/docker.md, --pids-limit"
            raise ServerError(failure + (advice if NO_THREAD in failure else ""))
        if time.monotonic() > deadline:
            raise ServerError(
                f"tritonserver: not ready within {limit_s:.0f} s; {server.log.reason()}"
            )
        on_wait()
        time.sleep(CHECK_S)


def find_failure(server: Server) -> str:
    """Return why the server will never be ready; empty while it still may be."""
    # A worker that ended well was ended by Triton, which then writes why to its log.
    if dead := [worker for worker in server.workers.dead() if worker.exit_reason != ENDED_WELL]:
        model, reason = dead[0].model or "a model", dead[0].exit_reason
        return f"the worker of {model} died while starting ({reason}){_last_words(server)}"
    exit_reason = server.exit_reason()
    if model_failure := server.log.find_unloaded():
        model, why = model_failure
        return f"{model}: cannot be loaded: {why or f'a worker that died{_last_words(server)}'}"
    if not exit_reason:
        return ""
    return f"tritonserver ended while starting ({exit_reason}): {server.log.reason()}"


def _last_words(server: Server) -> str:
    words = server.log.last_words()
    return words and f": {words}"


def _answers(url: str) -> bool:
    try:
        with open_url(url, timeout_s=1) as answer:
            return bool(answer.status == 200)
    except (OSError, http.client.HTTPException):
        return False
