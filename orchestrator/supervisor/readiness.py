"""Asks a Triton whether it is ready."""

from __future__ import annotations

import http.client
from collections.abc import Iterable

from orchestrator.supervisor.options import ServerOptions
from orchestrator.supervisor.repository import MODELS
from orchestrator.system.loopback import open_url


def is_ready(options: ServerOptions, models: Iterable[str] = MODELS) -> bool:
    """Tell whether the server and the models say that they are ready."""
    paths = ["health/ready", *(f"models/{name}/ready" for name in models)]
    return all(_answers(f"http://{options.http_url}/v2/{path}") for path in paths)


def _answers(url: str) -> bool:
    try:
        with open_url(url, timeout_s=1) as answer:
            return bool(answer.status == 200)
    except (OSError, http.client.HTTPException):
        return False
