"""What the server itself counts: times in the queue and in the models, from its metrics."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from orchestrator.contract import MODEL
from orchestrator.errors import ServerError
from orchestrator.loopback import open_url
from orchestrator.networks.registry import NETWORKS

LINE = re.compile(r'^nv_inference_(\w+)\{.*?model="([^"]+)".*?\} (\S+)$', re.MULTILINE)
COMPUTE = ("compute_input_duration_us", "compute_infer_duration_us", "compute_output_duration_us")

Counters = Mapping[tuple[str, str], float]
"""By model and by Triton's name of the counter, without its `nv_inference_`."""


def scrape(url: str, timeout_s: float = 10.0) -> Counters:
    """Read the counters; none without a URL.

    Raises:
        ServerError: Nobody answers there.
    """
    if not url:
        return {}
    try:
        with open_url(url, timeout_s) as answer:
            return parsed(answer.read().decode())
    except (OSError, ValueError) as error:
        raise ServerError(f"{url}: wanted the server's metrics, got {error}") from error


def parsed(text: str) -> Counters:
    """Read Prometheus text; versions and devices of a model are added up."""
    return total({(model, name): float(value)} for name, model, value in LINE.findall(text))


def total(many: Iterable[Counters]) -> Counters:
    """Add readings up."""
    counters: dict[tuple[str, str], float] = {}
    for one in many:
        for key, value in one.items():
            counters[key] = counters.get(key, 0.0) + value
    return counters


def difference(before: Counters, after: Counters) -> Counters:
    """Return what was counted between two readings."""
    return {key: value - before.get(key, 0.0) for key, value in after.items()}


def stages(counted: Counters) -> dict[str, Any] | None:
    """Return where the time of a picture goes inside the server; None when none was counted.

    Args:
        counted: From before the first call of a load until after the last one: between two moments
            of it, calls under way would be counted without their parts, or the parts without them.

    Returns:
        `own_ms`, the computing of `plate_recognition` without its calls to the other models, and
        `models`, by name: `calls`, `queue_ms` and `compute_ms` for each picture, where a request
        counts the whole time of its batch; `batch` requests and `rows` that ran together on mean.
    """
    pictures = counted.get((MODEL, "request_success"), 0.0)
    if pictures <= 0:
        return None
    models = {name: _stage(name, counted, pictures) for name in (MODEL, *NETWORKS)}
    whole_us = sum(counted.get((name, "request_duration_us"), 0.0) for name in NETWORKS)
    own_ms = models[MODEL]["compute_ms"] - whole_us / pictures / 1e3
    return {"models": models, "own_ms": own_ms}


def _stage(model: str, counted: Counters, pictures: float) -> dict[str, float]:
    def of(name: str) -> float:
        return counted.get((model, name), 0.0)

    executions = of("exec_count") or 1.0
    return {
        "calls": of("request_success") / pictures,
        "queue_ms": of("queue_duration_us") / pictures / 1e3,
        "compute_ms": sum(map(of, COMPUTE)) / pictures / 1e3,
        "batch": of("request_success") / executions,
        "rows": of("count") / executions,
    }
