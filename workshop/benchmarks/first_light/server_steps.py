"""The steps with a server: answers and places of tensors, then speed by settings and memory."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from orchestrator.errors import ServerError
from workshop.benchmarks.bench.pooling import CellFigures
from workshop.benchmarks.bench.report import BenchReport
from workshop.benchmarks.first_light.steps import WAYS, Row, Scope, StepResult
from workshop.benchmarks.gpu_check import check_server, find_slow
from workshop.benchmarks.pictures import render
from workshop.benchmarks.processes import poll
from workshop.reporting.files import read_report
from workshop.reporting.tables import NOTHING, format_figure

PLATES = Path(sys.executable).with_name("plates")
TRANSPORT = "http-encoded"
NVIDIA_SMI = "nvidia-smi"
QUERY = ("--query-gpu=memory.used", "--format=csv,noheader,nounits")
LOOK_S = 0.5
OPTIONS = {
    "default": (),
    "pictures-on-gpu": ("--pictures-on-gpu",),
    "float32": ("--engine=torchscript",),
    "instance": ("--instances=1",),
}
"""Options of the ways to run a server, by the names of the ways."""


def check_tensors(scope: Scope) -> StepResult:
    """Compare a server's answers with a CPU's, and look where the tensors lie."""
    if scope.is_whole:
        checked = check_server(scope.device)
    else:
        checked = check_server(scope.device, [render(1)], at_once=1)
    rows = tuple(
        (place.model, place.seen_by, place.tensor, place.device) for place in checked.places
    )
    wrong = checked.wrong if scope.device == "gpu" else checked.different
    return StepResult("A server", ("hop", "seen by", "tensor", "where"), rows, wrong)


def measure_settings(way: str, scope: Scope) -> StepResult:
    """Measure a server that is run in one way, for each number of pictures at once."""
    rows: list[Row] = []
    figures: dict[str, float] = {}
    for workers in scope.workers:
        for row in _measure(scope, workers, way):
            rows.append(row)
            what = f"{workers} pictures, {WAYS[way]}, {row[2]} calls, pictures/s"
            figures[what] = float(row[3])
    header = (
        "pictures at once",
        "way",
        "calls",
        "pictures/s",
        "p50, ms",
        "p99, ms",
        "CPU ms",
        "MB",
        "GPU MiB",
    )
    slow = find_slow([*figures.values()]) if scope.device == "gpu" else ()
    return StepResult(f"A server: {WAYS[way]}", header, tuple(rows), slow, figures)


def _measure(scope: Scope, workers: int, way: str) -> Iterator[Row]:
    """Run `plates bench` on a server that processes so many pictures at once."""
    with TemporaryDirectory() as folder:
        line = [
            str(PLATES), "bench", f"--device={scope.device}",
            f"--pictures={workers}", f"--concurrency={','.join(map(str, scope.calls))}",
            f"--seconds={scope.seconds}", "--rounds=1", "--plates=4",
            f"--transport={TRANSPORT}", f"--out={folder}/bench",
            *OPTIONS[way],
        ]  # fmt: skip
        with watch_gpu_memory() as gpu:
            done = subprocess.run(line, capture_output=True, text=True, check=False)
        if done.returncode:
            raise ServerError(f"bench: {done.stderr.strip()[-300:]}")
        report = read_report(BenchReport, Path(folder, "bench", "report.json"))
    for cell in report.cells:
        if cell.key.transport == TRANSPORT:
            yield (*_row(workers, way, cell), str(gpu.peak_mib or NOTHING))


def _row(workers: int, way: str, cell: CellFigures) -> Row:
    load, memory = cell.load, cell.peaks.memory_bytes
    return (
        f"{workers}",
        WAYS[way],
        f"{cell.key.concurrency}",
        f"{load.throughput:.1f}",
        format_figure(load.p50_ms),
        format_figure(load.p99_ms),
        format_figure(load.cpu_ms.server),
        f"{(memory or 0) / 1e6:.0f}",
    )


@dataclass
class GpuMemory:
    """The most memory of a GPU that all processes used together, in MiB; None without a GPU."""

    peak_mib: int | None = None

    def look(self) -> None:
        """Ask for the memory in use now."""
        gpu = os.environ.get("CUDA_VISIBLE_DEVICES", "0").partition(",")[0]
        line = [NVIDIA_SMI, f"--id={gpu}", *QUERY]
        done = subprocess.run(line, capture_output=True, text=True, check=False)
        used = done.stdout.strip()
        if not done.returncode and used.isdecimal():
            self.peak_mib = max(self.peak_mib or 0, int(used))


@contextmanager
def watch_gpu_memory() -> Iterator[GpuMemory]:
    """Watch the memory for the length of a `with` block."""
    memory = GpuMemory()
    if shutil.which(NVIDIA_SMI) is None:
        yield memory
        return
    with poll(memory.look, LOOK_S):
        yield memory
