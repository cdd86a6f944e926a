"""Finds the parts of the time of a picture, from the server's counters and the stopwatch."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from orchestrator.contract import MODEL, STAGES
from orchestrator.errors import ServerError
from orchestrator.host.loopback import open_url
from orchestrator.networks.registry import NETWORKS
from orchestrator.triton.metrics import STAGE
from orchestrator.triton.stages import UNPACKING, Stopwatch

MODEL_LINE = re.compile(
    r'^nv_(?:inference|cache)_(\w+)\{.*?model="([^"]+)".*?\} (\S+)$', re.MULTILINE
)
STAGE_LINE = re.compile(
    rf'^{STAGE.name}_(sum|count)\{{.*?{STAGE.label}="([^"]+)".*?\}} (\S+)$', re.MULTILINE
)
COMPUTE = ("compute_input_duration_us", "compute_infer_duration_us", "compute_output_duration_us")
T = TypeVar("T")

Counters = Mapping[str, float]
"""Counters by name.

The name of a model's counter is the model and Triton's name without `nv_inference_` or `nv_cache_`:
`yolo exec_count`. A stage has its seconds, `yolo stage_sum`, and its number of runs, `yolo
stage_count`.
"""


@dataclass(frozen=True)
class ModelTimes:
    """The part of a model in each picture; a request counts the whole time of its batch.

    Attributes:
        batch: The mean number of requests that ran together.
        rows: The mean number of pictures or plates that ran together.
    """

    calls: float
    queue_ms: float
    compute_ms: float
    batch: float
    rows: float


@dataclass(frozen=True)
class Inside:
    """The parts of the time of a picture.

    Attributes:
        whole: The times of the called model; None in process.
        stages_ms: The times of `orchestrator.triton.stages`; empty when they were not measured.
    """

    whole: ModelTimes | None
    networks: Mapping[str, ModelTimes]
    stages_ms: Mapping[str, float]


def scrape(url: str) -> Counters:
    """Read the counters of a server; empty without a URL."""
    return read_url(url, parse) if url else {}


def read_url(url: str, parse: Callable[[str], T]) -> T:
    """Read a text from a URL of a server and parse it."""
    try:
        with open_url(url, timeout_s=10) as answer:
            return parse(answer.read().decode())
    except (OSError, ValueError) as error:
        raise ServerError(f"{url}: wanted an answer, got {error}") from error


def parse(text: str) -> Counters:
    """Parse Prometheus text; the versions and devices of a model are added up."""
    of_models = [(f"{model} {name}", value) for name, model, value in MODEL_LINE.findall(text)]
    of_stages = [(f"{name} stage_{of}", value) for of, name, value in STAGE_LINE.findall(text)]
    return add_up({key: float(value)} for key, value in (*of_models, *of_stages))


def read_stopwatch(watch: Stopwatch) -> Counters:
    """Return the counters of one picture, in the form of a server's counters."""
    counts = {f"{stage} stage_count": 1.0 for stage in watch.seconds}
    return counts | {f"{stage} stage_sum": seconds for stage, seconds in watch.seconds.items()}


def add_up(readings: Iterable[Counters]) -> Counters:
    """Return the sum of several readings."""
    counters: dict[str, float] = {}
    for reading in readings:
        for key, value in reading.items():
            counters[key] = counters.get(key, 0.0) + value
    return counters


def subtract(after: Counters, before: Counters) -> Counters:
    """Return the increase of the counters between two readings."""
    return {key: value - before.get(key, 0.0) for key, value in after.items()}


def look_inside(increase: Counters) -> Inside | None:
    """Return the parts of the time of a picture; None when no picture was counted.

    Args:
        increase: The increase from before the first call of a load until after its last call. In a
            shorter time, calls in progress would be counted without their parts, or parts without
            their calls.
    """
    pictures = increase.get(f"{MODEL} request_success", 0.0)
    watched = increase.get(f"{UNPACKING} stage_count", 0.0)
    if not pictures and not watched:
        return None
    stages = STAGES if watched else ()
    return Inside(
        whole=_times_of(MODEL, increase, pictures) if pictures else None,
        networks={name: _times_of(name, increase, pictures) for name in NETWORKS}
        if pictures
        else {},
        stages_ms={name: 1e3 * increase.get(f"{name} stage_sum", 0.0) / watched for name in stages},
    )


def _times_of(model: str, increase: Counters, pictures: float) -> ModelTimes:
    """Return the mean part of a model in each picture."""

    def of(name: str) -> float:
        return increase.get(f"{model} {name}", 0.0)

    executions = of("exec_count") or 1.0
    return ModelTimes(
        calls=of("request_success") / pictures,
        queue_ms=of("queue_duration_us") / pictures / 1e3,
        compute_ms=sum(map(of, COMPUTE)) / pictures / 1e3,
        batch=of("request_success") / executions,
        rows=of("count") / executions,
    )
