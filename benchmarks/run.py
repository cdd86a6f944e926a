"""One benchmark from the pictures to the report."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from importlib import metadata
from typing import Any

import torch

from benchmarks.comparison import SCHEMA, compared, differences, medians, read_report
from benchmarks.figures import (
    Figures,
    bare_figures,
    cell_figures,
    ratios,
)
from benchmarks.pictures import Picture, read, rendered
from benchmarks.plan import Key, Task
from benchmarks.plots import plot
from benchmarks.processes import PAGE
from benchmarks.session import Record, measure
from benchmarks.tables import text_of
from evaluation.report import writable, write_report
from orchestrator.networks.engines import CPU_INFO

PACKAGES = ("torch", "openvino", "numpy", "opencv-python-headless")


def run(task: Task) -> Figures:
    """Measure and write the report; return it, its text under `text`.

    Raises:
        DataError: A picture, the report to compare with or the folder cannot be used.
        WeightsError: Weights cannot be used.
        ServerError: The server or the pipeline cannot be started or reached.
    """
    old = read_report(task.against) if task.against else None
    pictures = read(task.files) if task.files else [rendered(n) for n in task.plates]
    with writable(task.out):
        task.out.mkdir(parents=True, exist_ok=True)
    record = measure(task, pictures)
    report = figures(task, pictures, record)
    if old:
        report["against"] = _against(report, old)
    text = text_of(report)
    with writable(task.out):
        write_report(report, "", task.out)
        (task.out / "report.txt").write_text(text + "\n", encoding="utf-8")
        if report["cells"]:
            plot(report["cells"], task.out / "bench.png")
    return report | {"text": text}


def figures(task: Task, pictures: Sequence[Picture], record: Record) -> Figures:
    """Return the report: what was measured, on what, and every figure."""
    server = record.server
    cells = [
        cell_figures(key, record.samples[key])
        for key in (
            Key(picture.name, transport, concurrency)
            for picture in pictures
            for transport in task.transports
            for concurrency in sorted(task.concurrencies)
        )
        if key in record.samples
    ]
    bare = [row for name in record.bare for row in bare_figures(name, record.bare[name])]
    return {
        "schema": SCHEMA,
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "machine": describe(server.version if server else ""),
        "settings": _settings(task),
        "server": server.options | {"parameters": server.parameters} if server else {},
        "rounds_done": record.rounds,
        "ended_early": record.ended,
        "pictures": [_picture(picture) for picture in pictures],
        "ratios": ratios(cells, bare),
        "cells": cells,
        "bare": bare,
        "notes": notes(task, pictures, cells, record),
    }


def notes(
    task: Task, pictures: Sequence[Picture], cells: Sequence[Figures], record: Record
) -> list[str]:
    """Return what a reader of the tables must know."""
    wanted = {picture.name: picture.plates for picture in pictures}
    found = [f"the run ended early: {record.ended}"] if record.ended else []
    for name, plates in wanted.items():
        counts = {cell["plates"] for cell in cells if cell["picture"] == name} - {None}
        if plates is not None and counts - {plates}:
            seen = " or ".join(map(str, sorted(counts)))
            found.append(f"{name}: drawn with {plates}, answers had {seen}")
    for cell in cells:
        if cell["errors"]:
            where = f"{cell['picture']}, {cell['transport']} x{cell['concurrency']}"
            found.append(f"{where}: {cell['errors']} errors, the first: {cell['first_error']}")
    if task.address:
        found.append("CPU and memory of a server that was not started here are not measured")
        if not task.address.metrics:
            found.append("stages are not known without --metrics-url")
    return found


def _settings(task: Task) -> dict[str, Any]:
    kept = (
        "plates", "transports", "concurrencies", "thin", "seconds", "rounds",
        "device", "engine", "threads", "pictures",
    )  # fmt: skip
    return {name: json.loads(json.dumps(getattr(task, name))) for name in kept} | {
        "address": asdict(task.address) if task.address else None,
        "files": [path.name for path in task.files],
    }


def _picture(picture: Picture) -> Figures:
    height, width = picture.bgr.shape[:2]
    return {
        "name": picture.name,
        "width_px": width,
        "height_px": height,
        "encoded_bytes": len(picture.encoded),
        "raw_bytes": picture.bgr.nbytes,
        "sha256": hashlib.sha256(picture.encoded).hexdigest(),
        "plates": picture.plates,
    }


def _against(report: Figures, old: Figures) -> Figures:
    rows = compared(report["cells"], old["cells"])
    return {
        "date": old["date"],
        "differences": differences(report, old),
        "medians": medians(rows),
        "cells": rows,
    }


def describe(triton_version: str) -> Figures:
    """Return what is known about the machine and its software."""
    names = re.findall(r"^model name\s*: (.*)", CPU_INFO.read_text(), re.MULTILINE)
    return {
        "cpu": next(iter(names), platform.machine()),
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": PAGE * os.sysconf("SC_PHYS_PAGES"),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "system": platform.platform(),
        "python": platform.python_version(),
        "triton": triton_version or None,
        **{name: metadata.version(name) for name in PACKAGES},
    }
