"""From samples to the figures of a cell, pooled over the rounds, and to ratios of them.

Machines differ and are noisy; ratios of what was measured within a run do so less.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.load import Sample
from benchmarks.metrics import stages, total
from benchmarks.plan import HTTP_ENCODED, IN_PROCESS, Key
from orchestrator.contract import DETECTOR

Figures = dict[str, Any]
"""What goes into `report.json`."""

SERVED, SPREAD, SCALING = "served / in process", "p99 / p50", "throughput at many / at 4"
TAX = "one call - (yolo + decoding), ms"
BUSY = 4
"""Calls at once at which a server is under load, but not flooded."""


def cell_figures(key: Key, samples: Sequence[Sample]) -> Figures:
    """Return a cell's figures: latencies pooled, throughput the median of the rounds."""
    latencies = [ms for sample in samples for ms in sample.latencies_ms]
    peaks = {name: max(s.peaks.get(name, 0) for s in samples) for name in samples[0].peaks}
    return {
        **key._asdict(),
        "plates": max((s.plates for s in samples if s.plates is not None), default=None),
        "calls": len(latencies),
        "errors": sum(sample.errors for sample in samples),
        "refused": sum(sample.refused for sample in samples),
        "first_error": next((one.first_error for one in samples if one.first_error), ""),
        "throughput": statistics.median(sample.throughput for sample in samples),
        "throughput_by_round": [sample.throughput for sample in samples],
        "p50_ms": percentile(latencies, 50),
        "p99_ms": percentile(latencies, 99),
        "cpu_s_per_call": _per_call(samples, "cpu_s"),
        "client_cpu_s_per_call": _per_call(samples, "client_cpu_s"),
        "memory_bytes": peaks.get("memory_bytes"),
        "shm_bytes": peaks.get("shm_bytes"),
        "stages": stages(total(sample.counters for sample in samples)),
    }


def percentile(values: Sequence[float], percent: float) -> float | None:
    """Return a percentile, None of nothing."""
    return float(np.percentile(values, percent)) if values else None


def _per_call(samples: Sequence[Sample], name: str) -> float | None:
    calls = sum(len(sample.latencies_ms) for sample in samples)
    known = [sample.used[name] for sample in samples if name in sample.used]
    return sum(known) / calls if calls and known else None


def bare_figures(picture: str, rounds: Sequence[Sequence[Figures]]) -> list[Figures]:
    """Return each bare stage's median over the rounds, in the order of the first."""
    times: dict[tuple[str, int], list[float]] = {}
    for row in (row for one in rounds for row in one):
        times.setdefault((row["stage"], row["rows"]), []).append(row["ms"])
    return [
        {"picture": picture, "stage": stage, "rows": rows, "ms": statistics.median(several)}
        for (stage, rows), several in times.items()
    ]


def ratios(cells: Sequence[Figures], bare: Sequence[Figures]) -> list[Figures]:
    """Return every ratio that the cells allow: title, picture, concurrency and value."""
    found: list[Figures] = []
    for picture in dict.fromkeys(cell["picture"] for cell in cells):
        mine = [cell for cell in cells if cell["picture"] == picture]
        encoded = {c["concurrency"]: c for c in mine if c["transport"] == HTTP_ENCODED}
        inside = {c["concurrency"]: c for c in mine if c["transport"] == IN_PROCESS}
        parts = {row["stage"]: row["ms"] for row in bare if row["picture"] == picture}
        found += [
            {"title": title, "picture": picture, "concurrency": concurrency, "value": value}
            for title, concurrency, value in (
                *_under_load(encoded, inside),
                *_one_call(encoded.get(1), parts),
            )
            if value is not None
        ]
    return found


Found = Iterator[tuple[str, int, float | None]]


def _under_load(encoded: dict[int, Figures], inside: dict[int, Figures]) -> Found:
    for concurrency in sorted(set(encoded) & set(inside)):
        yield SERVED, concurrency, by_round(encoded[concurrency], inside[concurrency])
    if BUSY in encoded:
        busy, most = encoded[BUSY], max(encoded)
        if busy["p50_ms"]:
            yield SPREAD, BUSY, busy["p99_ms"] / busy["p50_ms"]
        if most > BUSY:
            yield SCALING, most, by_round(encoded[most], busy)


def _one_call(single: Figures | None, parts: Mapping[str, float]) -> Found:
    if single is None or single["p50_ms"] is None:
        return
    if DETECTOR in parts and single["plates"] == 0:
        yield TAX, 1, single["p50_ms"] - parts[DETECTOR] - parts["decode"]


def by_round(above: Figures, below: Figures) -> float | None:
    """Divide throughputs measured next to each other; the median of the rounds."""
    pairs = zip(above["throughput_by_round"], below["throughput_by_round"], strict=False)
    values = [one / other for one, other in pairs if other]
    return statistics.median(values) if values else None
