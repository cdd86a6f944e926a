"""The steps that look at networks and servers: answers, places of tensors, speed, faults."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from torch import Tensor

from orchestrator.errors import ServerError
from orchestrator.networks.engines import Engine
from orchestrator.networks.export import load_networks
from orchestrator.networks.weights import WEIGHTS
from orchestrator.pipeline import Infer, recognize
from orchestrator.plates import Plates
from workshop.benchmarks.bench.pooling import CellFigures
from workshop.benchmarks.bench.report import BenchReport
from workshop.benchmarks.faults.callers import build_text_requests, render_pictures
from workshop.benchmarks.faults.harmful_requests import list_worker_faults
from workshop.benchmarks.faults.observation import Harness
from workshop.benchmarks.faults.report import Row as Fault
from workshop.benchmarks.faults.settings import BREAKING
from workshop.benchmarks.first_light.steps import WAYS, Row, Scope, StepResult
from workshop.benchmarks.gpu_check import check_server, differ, draw_large, find_slow
from workshop.benchmarks.pictures import render
from workshop.benchmarks.processes import poll
from workshop.rendering.close_ups import draw_close_ups
from workshop.rendering.country import russia
from workshop.rendering.scenes import draw_pictures
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
        result = check_server(scope.device)
    else:
        result = check_server(scope.device, [render(1)], at_once=1)
    rows = tuple(
        (place.model, place.seen_by, place.tensor, place.device) for place in result.places
    )
    wrong = result.wrong if scope.device == "gpu" else result.different
    return StepResult("A server", ("hop", "seen by", "tensor", "where"), rows, wrong)


def measure_settings(way: str, scope: Scope) -> StepResult:
    """Measure a server that is run in one way, for each number of pictures at once."""
    rows: list[Row] = []
    figures: dict[str, float] = {}
    for workers in scope.workers:
        for row in _measure(scope, workers, way):
            rows.append(row)
            name = f"{workers} pictures, {WAYS[way]}, {row[2]} calls, pictures/s"
            figures[name] = float(row[3])
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
            process = subprocess.run(line, capture_output=True, text=True, check=False)
        if process.returncode:
            raise ServerError(f"bench: {process.stderr.strip()[-300:]}")
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
        process = subprocess.run(line, capture_output=True, text=True, check=False)
        memory_mib = process.stdout.strip()
        if not process.returncode and memory_mib.isdecimal():
            self.peak_mib = max(self.peak_mib or 0, int(memory_mib))


@contextmanager
def watch_gpu_memory() -> Iterator[GpuMemory]:
    """Watch the memory for the length of a `with` block."""
    memory = GpuMemory()
    if shutil.which(NVIDIA_SMI) is None:
        yield memory
        return
    with poll(memory.look, LOOK_S):
        yield memory


MAX_DIFFERENT_SHARE = 0.02
"""The largest part of the pictures that may be answered differently: with other rounding, a plate
at the limit of a threshold is found or not."""
SHOWN = 10
SEED = 340


def compare_answers(scope: Scope) -> StepResult:
    """Compare the answers and the time of a picture on both devices."""
    on_cpu = load_networks(WEIGHTS, "cpu", Engine.TORCHSCRIPT)
    on_gpu = load_networks(WEIGHTS, scope.torch_device, Engine.TORCHSCRIPT)
    all_differences, times = [], {"CPU": 0.0, scope.device: 0.0}
    pictures = [*islice(draw_varied(scope.pictures), scope.pictures)]
    _read(pictures[0], on_gpu, scope.torch_device)  # its first use
    for picture in pictures:
        cpu_answer, cpu_s = _read(picture, on_cpu, "cpu")
        gpu_answer, gpu_s = _read(picture, on_gpu, scope.torch_device)
        times["CPU"] += cpu_s
        times[scope.device] += gpu_s
        all_differences.append(differ(cpu_answer, gpu_answer))
    different = [
        (index, differences) for index, differences in enumerate(all_differences) if differences
    ]
    per_picture = {f"{name}, ms": 1e3 * seconds / len(pictures) for name, seconds in times.items()}
    rows = [
        (f"picture {index}", "; ".join(differences)) for index, differences in different[:SHOWN]
    ]
    rows += [(name, f"{ms:.1f}") for name, ms in per_picture.items()]
    share = len(different) / len(pictures)
    wrong = [f"wanted at most {MAX_DIFFERENT_SHARE:.0%} of the answers to differ, got {share:.1%}"]
    return StepResult(
        f"Answers to {len(pictures)} pictures, beside a CPU's",
        ("what", "value"),
        tuple(rows),
        tuple(wrong) if share > MAX_DIFFERENT_SHARE else (),
        {"different, share": share, **per_picture},
    )


def draw_varied(count: int) -> Iterator[Tensor]:
    """Draw at least so many pictures, which together need every part of the pipeline.

    There are plates of all formats, tilted and unsure ones among them, close-ups, odd sides, a
    tall picture that is searched in tiles, and one without plates.
    """
    large = draw_large().bgr
    yield torch.from_numpy(large)
    yield torch.from_numpy(render(0).bgr)
    yield torch.from_numpy(np.rot90(large).copy())
    country = russia()
    close_ups = draw_close_ups(country, count, SEED)
    for index, scene in enumerate(draw_pictures(country, count, SEED, roads=0.3)):
        yield torch.from_numpy(scene.picture)
        if index % 5 == 0:
            yield torch.from_numpy(next(close_ups).picture)


@torch.inference_mode()
def _read(picture: Tensor, infer: Infer, device: str) -> tuple[Plates, float]:
    """Return the answer and its seconds; an answer lies on the CPU, so nothing is left to run."""
    began = time.perf_counter()
    plates = recognize(picture.to(device), infer)
    return plates, time.perf_counter() - began


HEADER = ("fault", "calls", "answered", "refused", "lost", "wrong", "longest, s", "recovered, s",
          "notes")  # fmt: skip
NEVER = "not seen"


def break_workers(scope: Scope) -> StepResult:
    """Break workers under load. No caller may see an error or get another picture's texts."""
    all_faults = list_worker_faults(BREAKING[scope.device])
    faults = [fault for fault in all_faults if scope.faults is None or fault.name in scope.faults]
    requests = build_text_requests(render_pictures(12 if scope.is_whole else 2))
    each, before_s = (4, 3.0) if scope.is_whole else (1, 0.3)
    rows = [*Harness(requests, each, before_s=before_s).make(faults)]
    return report(rows)


def report(rows: list[Fault]) -> StepResult:
    """Return the table of faults; what broke a promise is wrong."""
    wrong = [f"{row.fault}: {why}" for row in rows for why in row.broken]
    recovered = {
        f"{row.fault}, recovered, s": row.recover_s for row in rows if row.recover_s is not None
    }
    return StepResult(
        "Faults in workers", HEADER, tuple(map(_fault_row, rows)), tuple(wrong), recovered
    )


def _fault_row(row: Fault) -> Row:
    counts = row.counts
    numbers = (counts.sent, counts.answered, counts.all_refused, counts.lost, counts.wrong)
    recovered = NEVER if row.recover_s is None else format_figure(row.recover_s)
    times = (format_figure(counts.longest_s), recovered)
    return (row.fault, *map(str, numbers), *times, "; ".join(row.notes))
