"""Metrics that several processes count in files: Triton's workers, and the gateway's processes.

For workers they have the interface of Triton's own. Triton takes each update as a message and
answers it: for a picture with five plates 22 messages, a tenth of a worker's time under load. Here
an update only writes to memory, and `prometheus_client` adds up the files.

The files belong into shared memory: on a disk an update may wait for the disk, and some file
systems need more space for a write to a file whose space was reserved. If a file cannot be made,
its process counts for itself alone.

Source: prometheus_client, "Multiprocess Mode".
"""

from __future__ import annotations

import fcntl
import itertools
import logging
import os
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest, values
from prometheus_client.metrics_core import Metric
from prometheus_client.mmap_dict import MmapedDict
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
"""Variable with the folder of the files. The library reads it."""
RESERVED_BYTES = 64 << 10
"""Space of each file, of which the metrics of `plate_recognition` take 30 KB."""
ENTRY_BYTES = 32
"""Most bytes of a file's entry beside its key."""

logger = logging.getLogger(__name__)


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


class ReservedFile(MmapedDict):
    """A file of values whose space is reserved before it is written to.

    On a full disk, a write to mapped memory without space would end the process.
    """

    def __init__(self, filename: str, read_mode: bool = False) -> None:
        _reserve(Path(filename))
        super().__init__(filename, read_mode)  # type: ignore[no-untyped-call]

    def _init_value(self, key: str) -> None:
        """Add an entry.

        Raises:
            OSError: There is no space for it.
        """
        if self._used + len(key.encode()) + ENTRY_BYTES > self._capacity:
            os.posix_fallocate(self._f.fileno(), 0, 2 * self._capacity)
        super()._init_value(key)  # type: ignore[no-untyped-call]


def use(folder: Path) -> type[SharedFamily]:
    """Make all metrics of this process shared; return the class that makes them."""
    try:
        slot = _take_slot(folder)
    except OSError as error:
        logger.warning("%s: metrics of this process are not counted: %s", folder, error.strerror)
        values.ValueClass = values.MutexValue
        return SharedFamily
    os.environ[VARIABLE] = str(folder)
    values.MmapedDict = ReservedFile  # type: ignore[attr-defined]
    shared_value = values.MultiProcessValue(lambda: slot)  # type: ignore[no-untyped-call]
    values.ValueClass = partial(_make_value, shared_value)
    return SharedFamily


def render(folder: Path) -> bytes:
    """Return the page for Prometheus with the sums over all processes, also over those that died.

    It is empty if the files cannot be read.
    """
    registry = CollectorRegistry()
    registry.register(_Files(folder.glob("*.db")))
    try:
        return generate_latest(registry)
    except Exception:  # a damaged file may raise anything
        logger.exception("%s: the metrics cannot be read", folder)
        return b""


def remove_gauges_of_dead(folder: Path) -> None:
    """Remove the gauges that count only as long as their process lives."""
    for lock in folder.glob("*.lock"):
        with suppress(OSError), lock.open("rb") as file:  # its process lives
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove_gauges(folder, lock.stem)


class _Files(Collector):
    """The sums over files."""

    def __init__(self, files: Iterable[Path]) -> None:
        self._files = [*map(str, files)]

    def describe(self) -> Iterable[Metric]:
        return ()  # or else `register` would read the files, too

    def collect(self) -> Iterator[Metric]:
        yield from MultiProcessCollector.merge(self._files)  # type: ignore[no-untyped-call]


def _make_value(shared_value: Any, *args: Any, **options: Any) -> Any:
    """Return a shared value, or one of this process alone if there is no space for it."""
    try:
        return shared_value(*args, **options)
    except OSError as error:
        logger.warning("%s: not counted: %s", args[1], error.strerror)
        return values.MutexValue(*args, **options)  # type: ignore[no-untyped-call]


def _take_slot(folder: Path) -> str:
    """Return a part of the names of files that no other process uses.

    The process goes on from the counts of one that died. The lock ends with the process, so there
    are only as many files as processes at once.

    Raises:
        OSError: The folder cannot be written.
    """
    for number in itertools.count():
        slot = f"worker-{number}"
        lock = os.open(folder / f"{slot}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(lock)
            if isinstance(error, BlockingIOError):
                continue
            raise
        _remove_gauges(folder, slot)
        return slot
    raise AssertionError("count() has no end")


def _remove_gauges(folder: Path, slot: str) -> None:
    for file in folder.glob(f"gauge_live*_{slot}.db"):
        file.unlink(missing_ok=True)


def _reserve(file: Path) -> None:
    """Make a file with reserved space, unless there is a whole one."""
    if not _is_whole(file):
        new = file.with_suffix(".new")
        with new.open("wb") as reserved:
            os.posix_fallocate(reserved.fileno(), 0, RESERVED_BYTES)
        new.rename(file)  # a reader finds it whole


def _is_whole(file: Path) -> bool:
    try:
        for _ in MmapedDict.read_all_values_from_file(file):  # type: ignore[no-untyped-call]
            pass
        return file.stat().st_size >= RESERVED_BYTES
    except (OSError, RuntimeError, ValueError, struct.error):  # it was truncated, or it is none
        return False
