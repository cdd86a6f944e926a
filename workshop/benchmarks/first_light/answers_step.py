"""The step `answers`: the same pictures on the GPU and on the CPU, in one process."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import islice

import numpy as np
import torch
from torch import Tensor

from orchestrator.networks.engines import Engine
from orchestrator.networks.export import load_networks
from orchestrator.networks.weights import WEIGHTS
from orchestrator.pipeline import Infer, recognize
from orchestrator.plates import Plates
from workshop.benchmarks.first_light.steps import Scope, StepResult
from workshop.benchmarks.gpu_check import differ, draw_large
from workshop.benchmarks.pictures import render
from workshop.rendering.close_ups import draw_close_ups
from workshop.rendering.country import russia
from workshop.rendering.scenes import draw_pictures

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
        wanted, cpu_s = _read(picture, on_cpu, "cpu")
        got, gpu_s = _read(picture, on_gpu, scope.torch_device)
        times["CPU"] += cpu_s
        times[scope.device] += gpu_s
        all_differences.append(differ(wanted, got))
    different = [
        (index, differences) for index, differences in enumerate(all_differences) if differences
    ]
    per_picture = {f"{name}, ms": 1e3 * s / len(pictures) for name, s in times.items()}
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
    for index, drawn in enumerate(draw_pictures(country, count, SEED, roads=0.3)):
        yield torch.from_numpy(drawn.picture)
        if index % 5 == 0:
            yield torch.from_numpy(next(close_ups).picture)


@torch.inference_mode()
def _read(picture: Tensor, infer: Infer, device: str) -> tuple[Plates, float]:
    """Return the answer and its seconds; an answer lies on the CPU, so nothing is left to run."""
    began = time.perf_counter()
    plates = recognize(picture.to(device), infer)
    return plates, time.perf_counter() - began
