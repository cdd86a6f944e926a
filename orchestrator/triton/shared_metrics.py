"""Metrics of Triton's workers in files that the gateway reads, with the interface of Triton's own.

Triton takes each update as a message and answers it: for a picture with five plates 22 messages,
a tenth of a worker's time under load. Here an update only writes to memory, and `prometheus_client`
adds up the files.

Source: prometheus_client, "Multiprocess Mode".
"""

from __future__ import annotations

import fcntl
import itertools
import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest, values
from prometheus_client.multiprocess import MultiProcessCollector

RESERVED_BYTES = 64 << 10
"""Space of each file, of which the metrics of `plate_recognition` take 30 KB."""
KINDS = ("counter", "histogram", "gauge_mostrecent")


class SharedCounter(Counter):
    """A counter with the method of Triton's counters."""

    increment = Counter.inc


class SharedFamily:
    """A family of metrics. It stands for Triton's class `MetricFamily`."""

    COUNTER = SharedCounter
    GAUGE = partial(Gauge, multiprocess_mode="mostrecent")
    HISTOGRAM = Histogram

    def __init__(self, name: str, description: str, kind: Any) -> None:
        self._make = partial(kind, name, description, registry=None)

    def Metric(  # noqa: N802 - Triton's name
        self, labels: Mapping[str, str], buckets: Sequence[float] = ()
    ) -> Any:
        """Return the metric with these labels; it has `increment`, `set` or `observe`."""
        metric = self._make([*labels], **({"buckets": buckets} if buckets else {}))
        return metric.labels(**labels) if labels else metric


def use(folder: Path) -> type[SharedFamily]:
    """Make all metrics of this process shared; return the class that makes them.

    Raises:
        OSError: The files cannot be written.
    """
    slot = _take_slot(folder)
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(folder)
    values.ValueClass = values.MultiProcessValue(lambda: slot)  # type: ignore[no-untyped-call]
    return SharedFamily


def render(folder: Path) -> bytes:
    """Return the page for Prometheus with the sums over all workers, also over those that died."""
    if not folder.is_dir():
        return b""
    registry = CollectorRegistry()
    MultiProcessCollector(registry, str(folder))  # type: ignore[no-untyped-call]
    return generate_latest(registry)


def _take_slot(folder: Path) -> str:
    """Return the name of the first files that no other worker uses; they go on from their counts.

    The lock ends with the process, so there are only as many files as workers at once.
    """
    for number in itertools.count():
        slot = f"worker-{number}"
        lock = os.open(folder / f"{slot}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            continue
        for kind in KINDS:
            _reserve(folder / f"{kind}_{slot}.db")
        return slot
    raise AssertionError("count() has no end")


def _reserve(file: Path) -> None:
    """Reserve a file's space: a write to mapped memory on a full disk would end the process."""
    if not file.exists():
        new = file.with_suffix(".new")
        with new.open("wb") as reserved:
            os.posix_fallocate(reserved.fileno(), 0, RESERVED_BYTES)
        new.rename(file)  # a reader finds it whole
