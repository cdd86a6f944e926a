"""From samples to the figures of a cell, pooled over the rounds."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from orchestrator.bench.metrics import stages, total
from orchestrator.bench.plan import Key
from orchestrator.bench.sampling import Sample

Figures = dict[str, Any]
"""What goes into `report.json`."""
Samples = Mapping[Key, Sequence[Sample]]
"""Of each cell, a sample for each round."""


def cell_figures(key: Key, samples: Sequence[Sample]) -> Figures:
    """Return a cell's figures: latencies pooled, throughput the median of the rounds."""
    latencies = [ms for sample in samples for ms in sample.latencies_ms]
    counted = stages(
        total(sample.counters for sample in samples),
        total(sample.whole_counters for sample in samples),
    )
    return {
        **key._asdict(),
        "plates": _most(sample.plates for sample in samples),
        "calls": len(latencies),
        "errors": sum(sample.errors for sample in samples),
        "refused": sum(sample.refused for sample in samples),
        "first_error": next((one.first_error for one in samples if one.first_error), ""),
        "throughput": statistics.median(sample.throughput for sample in samples),
        "throughput_by_round": [sample.throughput for sample in samples],
        "p50_ms": percentile(latencies, 50),
        "p99_ms": percentile(latencies, 99),
        "cpu_s_per_call": _per_call(samples, lambda sample: sample.cpu_s),
        "client_cpu_s_per_call": _per_call(samples, lambda sample: sample.client_cpu_s),
        "memory_bytes": _most(sample.memory_bytes for sample in samples),
        "shm_bytes": _most(sample.shm_bytes for sample in samples),
        "stages": asdict(counted) if counted else None,
    }


def percentile(values: Sequence[float], percent: float) -> float | None:
    """Return a percentile, None of nothing."""
    return float(np.percentile(values, percent)) if values else None


def bare_figures(picture: str, rounds: Sequence[Sequence[Figures]]) -> list[Figures]:
    """Return each bare stage's median over the rounds, in the order of the first."""
    times: dict[tuple[str, int, int], list[float]] = {}
    for one in rounds:
        for row in one:
            times.setdefault((row["stage"], row["rows"], row["threads"]), []).append(row["ms"])
    return [
        {"picture": picture, "stage": stage, "rows": rows, "threads": threads}
        | {"ms": statistics.median(several)}
        for (stage, rows, threads), several in times.items()
    ]


def predecessor_figures(picture: str, rounds: Sequence[Mapping[str, float]]) -> Figures:
    """Return the median of each of the predecessor's stages and of their sum."""
    names = list(rounds[0])
    return {
        "picture": picture,
        "stages_ms": {name: statistics.median(one[name] for one in rounds) for name in names},
        "total_ms": statistics.median(sum(one.values()) for one in rounds),
    }


def _per_call(samples: Sequence[Sample], used: Callable[[Sample], float | None]) -> float | None:
    seconds = [used(sample) for sample in samples]
    calls = sum(len(sample.latencies_ms) for sample in samples)
    known = [value for value in seconds if value is not None]
    return sum(known) / calls if calls and len(known) == len(samples) else None


def _most(values: Iterable[int | None]) -> int | None:
    return max((value for value in values if value is not None), default=None)
