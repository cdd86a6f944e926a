"""Waits until a starting Triton is ready, or finds out why it never will be."""

from __future__ import annotations

import http.client
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from orchestrator.errors import ServerError
from orchestrator.host.loopback import open_url
from orchestrator.serving.supervisor.models.plate_models import MODELS
from orchestrator.serving.supervisor.options import ServerOptions

if TYPE_CHECKING:
    from orchestrator.serving.supervisor.triton_server import Server

CHECK_S = 0.1
"""Time between two checks whether the server is ready."""
ENDED_WELL = "exit status 0"


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
            raise ServerError(failure)
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
    if unloaded := server.log.find_unloaded():
        model, why = unloaded
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
