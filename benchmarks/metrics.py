"""Where the time of a picture goes inside: what the server counts, and the pipeline's stopwatch."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from orchestrator.contract import MODEL, STAGES
from orchestrator.errors import ServerError
from orchestrator.loopback import open_url
from orchestrator.networks.registry import NETWORKS
from orchestrator.stages import PICTURE, Stopwatch
from orchestrator.triton.metrics import STAGE

MODEL_LINE = re.compile(
    r'^nv_(?:inference|cache)_(\w+)\{.*?model="([^"]+)".*?\} (\S+)$', re.MULTILINE
)
STAGE_LINE = re.compile(
    rf'^{STAGE.name}_(sum|count)\{{.*?{STAGE.label}="([^"]+)".*?\}} (\S+)$', re.MULTILINE
)
COMPUTE = ("compute_input_duration_us", "compute_infer_duration_us", "compute_output_duration_us")
T = TypeVar("T")

Counters = Mapping[str, float]
"""By a model and Triton's name of the counter, without its `nv_inference_` or `nv_cache_`: `yolo
exec_count`. By a stage, its seconds `yolo stage_sum` and how often it was come to, `yolo
stage_count`."""


@dataclass(frozen=True)
class ModelTimes:
    """A model's part in each picture; a request counts the whole time of its batch.

    Attributes:
        batch: Requests that ran together, on mean.
        rows: Pictures or plates that ran together, on mean.
    """

    calls: float
    queue_ms: float
    compute_ms: float
    batch: float
    rows: float


@dataclass(frozen=True)
class Inside:
    """Where the time of a picture goes.

    Attributes:
        whole: The model that is called; None in process.
        networks: By name; none in process.
        stages_ms: By `orchestrator.stages`; none where nobody held the stopwatch.
    """

    whole: ModelTimes | None
    networks: Mapping[str, ModelTimes]
    stages_ms: Mapping[str, float]


def scrape(url: str) -> Counters:
    """Read a server's counters; none without a URL.

    Raises:
        ServerError: Nobody answers there.
    """
    return read_url(url, parse) if url else {}


def read_url(url: str, parse: Callable[[str], T]) -> T:
    """Read what a server tells about itself.

    Raises:
        ServerError: Nobody answers there, or something else.
    """
    try:
        with open_url(url, timeout_s=10) as answer:
            return parse(answer.read().decode())
    except (OSError, ValueError) as error:
        raise ServerError(f"{url}: wanted an answer, got {error}") from error


def parse(text: str) -> Counters:
    """Read Prometheus text; versions and devices of a model are added up."""
    of_models = [(f"{model} {name}", value) for name, model, value in MODEL_LINE.findall(text)]
    of_stages = [(f"{name} stage_{of}", value) for of, name, value in STAGE_LINE.findall(text)]
    return add_up({key: float(value)} for key, value in (*of_models, *of_stages))


def read_stopwatch(watch: Stopwatch) -> Counters:
    """Return one picture's counters, as a server would have them."""
    counts = {f"{stage} stage_count": 1.0 for stage in watch.seconds}
    return counts | {f"{stage} stage_sum": seconds for stage, seconds in watch.seconds.items()}


def add_up(many: Iterable[Counters]) -> Counters:
    """Add readings up."""
    counters: dict[str, float] = {}
    for one in many:
        for key, value in one.items():
            counters[key] = counters.get(key, 0.0) + value
    return counters


def subtract(after: Counters, before: Counters) -> Counters:
    """Return what was counted between two readings."""
    return {key: value - before.get(key, 0.0) for key, value in after.items()}


def look_inside(counted: Counters, model: str = MODEL) -> Inside | None:
    """Return where the time of a picture goes; None when no picture was counted.

    Args:
        counted: From before the first call of a load until after the last one: between two moments
            of it, calls under way would be counted without their parts, or the parts without them.
        model: The one that was called.
    """
    pictures = counted.get(f"{model} request_success", 0.0)
    watched = counted.get(f"{PICTURE} stage_count", 0.0)
    if not pictures and not watched:
        return None
    stages = STAGES if watched else ()
    return Inside(
        whole=times_of(model, counted, pictures) if pictures else None,
        networks={n: times_of(n, counted, pictures) for n in NETWORKS} if pictures else {},
        stages_ms={n: 1e3 * counted.get(f"{n} stage_sum", 0.0) / watched for n in stages},
    )


def times_of(model: str, counted: Counters, pictures: float) -> ModelTimes:
    """Return a model's part in each of so many pictures."""

    def of(name: str) -> float:
        return counted.get(f"{model} {name}", 0.0)

    executions = of("exec_count") or 1.0
    return ModelTimes(
        calls=of("request_success") / pictures,
        queue_ms=of("queue_duration_us") / pictures / 1e3,
        compute_ms=sum(map(of, COMPUTE)) / pictures / 1e3,
        batch=of("request_success") / executions,
        rows=of("count") / executions,
    )
