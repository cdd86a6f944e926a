"""Replaces the workers of one model, while the other models continue."""

from __future__ import annotations

import http.client
import json
import os
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request

from orchestrator.errors import ServerError
from orchestrator.host.loopback import open_url
from orchestrator.serving.supervisor.monitoring.server_log import on_one_line
from orchestrator.serving.supervisor.options import ServerOptions

MAX_CONCURRENT = 8  # models that are loaded at the same time
STEP_NS = 1_000_000_000
"""Least time by which a file becomes newer: some file systems keep whole seconds."""


class ModelReload:
    """Loads models again, each at its own pace.

    Args:
        options: Options of the server.
        ours: The repository, if only this process writes to it; else None.
    """

    def __init__(self, options: ServerOptions, ours: Path | None) -> None:
        self._options, self._ours = options, ours
        self._pool = ThreadPoolExecutor(MAX_CONCURRENT, thread_name_prefix="reload")
        self._loading: dict[str, Future[None]] = {}

    def start(self, model: str, *, has_others: bool) -> None:
        """Start to load a model again; it must not be loading already.

        Args:
            model: Its name.
            has_others: Some of its workers live, and answer until the new ones do.
        """
        self._loading[model] = self._pool.submit(self._load_again, model, has_others)

    def finish(self) -> dict[str, ServerError | None]:
        """Return the models whose loading has ended since the last call, each with its error."""
        ended_models = [model for model, future in self._loading.items() if future.done()]
        return {model: self._error_of(self._loading.pop(model)) for model in ended_models}

    @staticmethod
    def _error_of(future: Future[None]) -> ServerError | None:
        try:
            future.result()
        except ServerError as error:
            return error
        return None

    def is_loading(self, model: str) -> bool:
        return model in self._loading

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _load_again(self, model: str, has_others: bool) -> None:
        """Load a model again. It is unchanged, so Triton needs a reason.

        Newer files are a reason, and then the old workers answer until the new ones do. If none
        answers, or the files are not ours to change, the model is unloaded first.
        """
        if not (has_others and self._touch(model)):
            self._post(f"{model}/unload")
        self._post(f"{model}/load")

    def _touch(self, model: str) -> bool:
        """Make a model's files newer; return False if they are not ours to change.

        The clock may have been set back since they were written. At files that are not newer,
        Triton loads nothing, and the old workers are then ended without new ones.
        """
        with suppress(OSError):  # a model of another repository has no folder in ours
            files = [*(self._ours / model / "1").iterdir()] if self._ours else []
            for file in files:
                newer_ns = max(time.time_ns(), file.stat().st_mtime_ns + STEP_NS)
                os.utime(file, ns=(newer_ns, newer_ns))
            return bool(files)
        return False

    def _post(self, path: str) -> None:
        options = self._options
        request = Request(
            f"http://{options.http_url}/v2/repository/models/{path}",
            data=b"{}",
            headers=options.admin_headers,
        )
        try:
            open_url(request, timeout_s=options.longest_start_s).close()
        except HTTPError as error:
            raise ServerError(f"{path}: {_reason(error)}") from error
        except (OSError, http.client.HTTPException) as error:
            raise ServerError(f"{path}: {error}") from error


def _reason(error: HTTPError) -> str:
    try:
        return on_one_line(str(json.loads(error.read())["error"]))
    except (OSError, ValueError, LookupError):
        return str(error)
