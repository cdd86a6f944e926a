"""What is divided by what: machines differ and are noisy, ratios within a run less so."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from orchestrator.bench.figures import Figures
from orchestrator.bench.plan import HTTP_ENCODED, IN_PROCESS
from orchestrator.contract import DETECTOR

SERVED, SPREAD, SCALING = "served / in process", "p99 / p50", "throughput at many / at 4"
TAX, PREDECESSOR = "one call - (yolo + decoding), ms", "one call / predecessor"
BUSY = 4
"""Calls at once at which a server is under load, but not flooded."""


def ratios(
    cells: Sequence[Figures], bare: Sequence[Figures], predecessor: Sequence[Figures]
) -> list[Figures]:
    """Return every ratio that the cells allow: title, picture, concurrency and value."""
    by_key = {(c["picture"], c["transport"], c["concurrency"]): c for c in cells}
    pictures = list(dict.fromkeys(cell["picture"] for cell in cells))
    counts = sorted({cell["concurrency"] for cell in cells})
    found: list[Figures] = []
    for picture in pictures:
        encoded = {n: c for n in counts if (c := by_key.get((picture, HTTP_ENCODED, n)))}
        inside = {n: c for n in counts if (c := by_key.get((picture, IN_PROCESS, n)))}
        for title, concurrency, value in (
            *_against_bound(encoded, inside),
            *_within(encoded),
            *_one_call(encoded.get(1), picture, bare, predecessor),
        ):
            if value is not None:
                found.append(
                    {"title": title, "picture": picture, "concurrency": concurrency, "value": value}
                )
    return found


Found = Iterator[tuple[str, int, float | None]]


def _against_bound(encoded: dict[int, Figures], inside: dict[int, Figures]) -> Found:
    for concurrency in sorted(set(encoded) & set(inside)):
        yield SERVED, concurrency, by_round(encoded[concurrency], inside[concurrency])


def _within(encoded: dict[int, Figures]) -> Found:
    if BUSY not in encoded:
        return
    busy, most = encoded[BUSY], max(encoded)
    if busy["p50_ms"]:
        yield SPREAD, BUSY, busy["p99_ms"] / busy["p50_ms"]
    if most > BUSY:
        yield SCALING, most, by_round(encoded[most], busy)


def _one_call(
    single: Figures | None,
    picture: str,
    bare: Sequence[Figures],
    predecessor: Sequence[Figures],
) -> Found:
    if single is None or single["p50_ms"] is None:
        return
    rows = [row for row in bare if row["picture"] == picture]
    threads = max((row["threads"] for row in rows), default=1)
    parts = [
        row["ms"]
        for row in rows
        if row["stage"] in {"decode", DETECTOR} and row["threads"] == threads
    ]
    if parts and single["plates"] == 0:
        yield TAX, 1, single["p50_ms"] - sum(parts)
    for row in predecessor:
        if row["picture"] == picture and row["total_ms"]:
            yield PREDECESSOR, 1, single["p50_ms"] / row["total_ms"]


def by_round(above: Figures, below: Figures) -> float | None:
    """Divide throughputs measured next to each other; the median of the rounds."""
    pairs = zip(above["throughput_by_round"], below["throughput_by_round"], strict=False)
    values = [one / other for one, other in pairs if other]
    return statistics.median(values) if values else None
