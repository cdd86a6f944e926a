"""A run as text: ratios first, then the cells, the stages and the bare networks."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.comparison import COMPARED, IDENTITY
from benchmarks.figures import Figures
from benchmarks.plan import HTTP_ENCODED, IN_PROCESS
from evaluation.tables import NOTHING, aligned
from orchestrator.contract import MODEL
from orchestrator.networks.registry import NETWORKS

STAGED = (1, 4)
"""Calls at once whose stages are printed; all are in `report.json`."""


def text_of(report: Figures) -> str:
    """Return everything that is printed about a run."""
    parts = (
        _head(report),
        _ratios(report["ratios"]),
        _against(report.get("against")),
        _cells(report),
        _stages(report["cells"]),
        _bare(report["bare"]),
        "\n".join(report["notes"]),
    )
    return "\n\n".join(filter(None, parts))


def figure(value: float | None, digits: int = 3) -> str:
    """Write a figure with so many digits that mean something, `-` when there is none."""
    if value is None:
        return NOTHING
    whole = len(str(int(abs(value))))
    return f"{value:.{max(0, digits - whole)}f}"


def _head(report: Figures) -> str:
    machine, settings = report["machine"], report["settings"]
    gpu = f", {machine['gpu']}" if machine["gpu"] else ""
    versions = [f"{name} {machine[name]}" for name in ("torch", "openvino") if name in machine]
    triton = [f"Triton {machine['triton']}"] if machine["triton"] else []
    engine = [report["server"]["engine"]] if "engine" in report["server"] else []
    software = ", ".join([*triton, *versions, *engine])
    return (
        f"{machine['cores']} cores, {machine['cpu']}{gpu}; {software}\n"
        f"{report['rounds_done']} of {settings['rounds']} rounds, "
        f"{settings['seconds']:g} s for each cell; x4: four calls at once"
    )


def _ratios(ratios: Sequence[Figures]) -> str:
    pictures = list(dict.fromkeys(row["picture"] for row in ratios))
    values = {(row["title"], row["concurrency"], row["picture"]): row["value"] for row in ratios}
    rows = [
        (
            f"{title}, x{concurrency}",
            *(figure(values.get((title, concurrency, picture))) for picture in pictures),
        )
        for title in dict.fromkeys(row["title"] for row in ratios)
        for concurrency in sorted({r["concurrency"] for r in ratios if r["title"] == title})
    ]
    return aligned([("ratios", *pictures), *rows]) if rows else ""


def _against(against: Figures | None) -> str:
    if against is None:
        return ""
    rows = [
        (transport, *(figure(values[name]) for name in COMPARED))
        for transport, values in against["medians"].items()
    ]
    title = f"new / {against['date']}, median of the cells"
    table = aligned([(title, *COMPARED.values()), *rows]) if rows else "no cell in common"
    warnings = [f"differs: {line}" for line in against["differences"]]
    return "\n".join([table, *warnings])


def _cells(report: Figures) -> str:
    against = report.get("against") or {"cells": []}
    ratios = {tuple(row[name] for name in IDENTITY): row for row in against["cells"]}
    header = (
        "picture", "transport", "", "found", "calls", "errors", "refused", "pictures/s",
        "p50 ms", "p99 ms", "CPU ms", "client ms", "MB", "shm MB",
    )  # fmt: skip
    more = tuple(f"{name} n/o" for name in COMPARED.values()) if ratios else ()
    rows = []
    for cell in report["cells"]:
        row = ratios.get(tuple(cell[name] for name in IDENTITY), {})
        rows.append(_cell(cell) + tuple(figure(row.get(name)) for name in COMPARED if ratios))
    return aligned([(*header, *more), *rows]) if rows else ""


def _cell(cell: Figures) -> tuple[str, ...]:
    scaled = (
        ("throughput", 1.0), ("p50_ms", 1.0), ("p99_ms", 1.0), ("cpu_s_per_call", 1e3),
        ("client_cpu_s_per_call", 1e3), ("memory_bytes", 1e-6), ("shm_bytes", 1e-6),
    )  # fmt: skip
    found = NOTHING if cell["plates"] is None else str(cell["plates"])
    counts = (str(cell[name]) for name in ("calls", "errors", "refused"))
    figures = (None if cell[name] is None else cell[name] * factor for name, factor in scaled)
    place = (cell["picture"], cell["transport"], f"x{cell['concurrency']}")
    return (*place, found, *counts, *map(figure, figures))


def _stages(cells: Sequence[Figures]) -> str:
    served = [cell["transport"] for cell in cells if cell["transport"] != IN_PROCESS]
    shown = HTTP_ENCODED if HTTP_ENCODED in served else next(iter(served), "")
    rows = [
        _stage(cell)
        for cell in cells
        if cell["transport"] == shown and cell["concurrency"] in STAGED and cell["stages"]
    ]
    columns = [column for name in NETWORKS for column in (f"{name} queue", "run", "batch")]
    header = (f"{shown}, ms a picture", "", "queue", "run", "own", *columns)
    return aligned([header, *rows]) if rows else ""


def _stage(cell: Figures) -> tuple[str, ...]:
    models = cell["stages"]["models"]
    parts: list[str] = []
    for name in NETWORKS:
        model = models[name]
        batch = model["batch"] if model["calls"] else None
        parts += [figure(model["queue_ms"]), figure(model["compute_ms"]), figure(batch)]
    whole = (figure(models[MODEL]["queue_ms"]), figure(models[MODEL]["compute_ms"]))
    own = figure(cell["stages"]["own_ms"])
    return (cell["picture"], f"x{cell['concurrency']}", *whole, own, *parts)


def _bare(rows: Sequence[Figures]) -> str:
    lines = [(row["picture"], row["stage"], str(row["rows"]), figure(row["ms"])) for row in rows]
    return aligned([("alone, in process", "", "rows", "ms"), *lines]) if lines else ""
