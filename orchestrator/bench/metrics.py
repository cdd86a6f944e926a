"""What the server itself counts: times in the queue and in the models, from its metrics."""

from __future__ import annotations

import re
import urllib.error
import urllib.request
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from orchestrator.contract import COMPONENTS, MODEL
from orchestrator.errors import ServerError

LINE = re.compile(r'^nv_inference_(\w+)\{.*?model="([^"]+)".*?\} (\S+)$', re.MULTILINE)
COMPUTE = ("compute_input_duration_us", "compute_infer_duration_us", "compute_output_duration_us")


class Counter(NamedTuple):
    """One of Triton's counters of a model, without its `nv_inference_`."""

    model: str
    name: str


Counters = Mapping[Counter, float]


@dataclass(frozen=True)
class Stage:
    """A model's part in the answer to one picture.

    Attributes:
        calls: Requests to the model for each picture.
        queue_ms: Waiting for an instance, for each picture.
        compute_ms: In the model's instance, input and output included, for each picture; a
            request that shared a batch counts the whole batch's time.
        batch: Mean requests that ran together.
        rows: Mean rows (pictures or plates) that ran together.
    """

    calls: float
    queue_ms: float
    compute_ms: float
    batch: float
    rows: float


@dataclass(frozen=True)
class Stages:
    """Where the time of a picture goes inside the server.

    Attributes:
        models: By name of the model.
        own_ms: The orchestration's own share: its computing without its calls to the other models.
    """

    models: Mapping[str, Stage]
    own_ms: float


def scrape(url: str, timeout_s: float = 10.0) -> Counters:
    """Read the counters; none without a URL.

    Raises:
        ServerError: Nobody answers there.
    """
    if not url:
        return {}
    try:
        with urllib.request.urlopen(url, timeout=timeout_s) as answer:
            return parsed(answer.read().decode())
    except (OSError, ValueError, urllib.error.URLError) as error:
        raise ServerError(f"{url}: wanted the server's metrics, got {error}") from error


def parsed(text: str) -> Counters:
    """Read Prometheus text; versions and devices of a model are added up."""
    counters: dict[Counter, float] = {}
    for name, model, value in LINE.findall(text):
        key = Counter(model, name)
        counters[key] = counters.get(key, 0.0) + float(value)
    return counters


def difference(before: Counters, after: Counters) -> Counters:
    """Return what was counted between two readings."""
    return {key: value - before.get(key, 0.0) for key, value in after.items()}


def total(many: Iterable[Counters]) -> Counters:
    """Add readings up."""
    counters: dict[Counter, float] = {}
    for one in many:
        for key, value in one.items():
            counters[key] = counters.get(key, 0.0) + value
    return counters


def stages(counted: Counters, whole: Counters) -> Stages | None:
    """Return each model's times for a picture; None when no picture was counted.

    When time begins and ends, calls are under way whose parts are counted without them. Therefore
    each model's mean is taken over its own requests, and how many of these a picture needs comes
    from the whole load, which has no such ends.

    Args:
        counted: In the time that counts.
        whole: From before the first call until after the last one.
    """
    pictures = whole.get(Counter(MODEL, "request_success"), 0.0)
    if pictures <= 0 or counted.get(Counter(MODEL, "request_success"), 0.0) <= 0:
        return None
    models: dict[str, Stage] = {}
    whole_ms: dict[str, float] = {}
    for name in (MODEL, *COMPONENTS):
        calls = whole.get(Counter(name, "request_success"), 0.0) / pictures
        is_seen = counted.get(Counter(name, "request_success"), 0.0) > 0
        models[name], whole_ms[name] = _stage(name, counted if is_seen else whole, calls)
    own_ms = models[MODEL].compute_ms - sum(whole_ms[name] for name in COMPONENTS)
    return Stages(models, own_ms)


def _stage(model: str, counted: Counters, calls: float) -> tuple[Stage, float]:
    """Return a model's part and its requests' whole duration, milliseconds for each picture."""

    def of(name: str) -> float:
        return counted.get(Counter(model, name), 0.0)

    requests, executions = of("request_success") or 1.0, of("exec_count") or 1.0
    ms = calls / requests / 1e3  # of so many microseconds
    stage = Stage(
        calls=calls,
        queue_ms=of("queue_duration_us") * ms,
        compute_ms=sum(map(of, COMPUTE)) * ms,
        batch=of("request_success") / executions,
        rows=of("count") / executions,
    )
    return stage, of("request_duration_us") * ms
