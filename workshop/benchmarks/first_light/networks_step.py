"""The step `networks`: the forms in which a server can run each network, by shape and batch."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor

from orchestrator.contract import DETECTOR
from orchestrator.networks.engines import Engine
from orchestrator.networks.export import load_for, script
from orchestrator.networks.registry import NETWORKS
from orchestrator.triton.cuda_graphs import CudaCapture, Graph
from workshop.benchmarks.first_light.steps import Row, Scope, StepResult

CROP_SHAPE = (3, 24, 94)
WARM_UP = 2
FLOAT16 = "float16"
"""The forms of the engine `torchscript-fp16`, which differs for the detector alone."""
Run = Callable[[Tensor], Any]
Form = Callable[[str, str], Run]
"""Creates a runnable network, from its name and a device."""


def measure_networks(scope: Scope) -> StepResult:
    """Measure the forms of every network; a form that fails is a row, too."""
    forms = [form for form in FORMS if scope.forms is None or form in scope.forms]
    rows: list[Row] = []
    figures: dict[str, float] = {}
    for form in forms:
        make = FORMS[form]
        for name in (DETECTOR,) if form.startswith(FLOAT16) else NETWORKS:
            for shape in _list_shapes(name, scope):
                what = f"{name} {'x'.join(map(str, shape))}, {form}"
                try:
                    first_ms, ms = _measure(make(name, scope.torch_device), name, shape, scope)
                except Exception as error:  # every form is an experiment; the others are measured
                    rows.append((form, name, str(list(shape)), "-", "-", _first_line(error)))
                    continue
                rows.append((form, name, str(list(shape)), f"{first_ms:.0f}", f"{ms:.2f}", ""))
                figures[f"{what}, ms"] = ms
    header = ("form", "network", "input", "first, ms", "ms", "failed")
    wrong = () if figures else ("wanted a form that runs, got none",)
    return StepResult(f"Networks: {', '.join(forms)}", header, tuple(rows), wrong, figures)


def _list_shapes(name: str, scope: Scope) -> Iterator[tuple[int, ...]]:
    if name == DETECTOR:
        yield from ((1, *hw, 3) for hw in scope.shapes)
        yield from ((batch, *scope.shapes[0], 3) for batch in scope.batches if batch > 1)
    else:
        yield from ((batch, *CROP_SHAPE) for batch in scope.batches)


@torch.inference_mode()
def _measure(run: Run, name: str, shape: tuple[int, ...], scope: Scope) -> tuple[float, float]:
    """Return the milliseconds of the first inference and of the median later one."""
    if NETWORKS[name].dtype == "uint8":
        tensor = torch.randint(256, shape, dtype=torch.uint8, device=scope.torch_device)
    else:
        tensor = torch.rand(shape, device=scope.torch_device)
    times = []
    for _ in range(WARM_UP + scope.runs):
        began = time.perf_counter()
        run(tensor)
        _wait(scope)
        times.append(1e3 * (time.perf_counter() - began))
    return times[0], sorted(times[WARM_UP:])[scope.runs // 2]


def _wait(scope: Scope) -> None:
    if scope.device == "gpu":
        torch.cuda.synchronize()


def _serve(engine: Engine, name: str, device: str) -> Run:
    """The network in the form that the server runs."""
    module = script(load_for(engine, name)).to(device)

    def run(tensor: Tensor) -> tuple[Tensor, ...]:
        with torch.jit.optimized_execution(False):  # type: ignore[attr-defined]
            answer = module(tensor)
        return answer if isinstance(answer, tuple) else (answer,)

    return run


def _graph(engine: Engine, name: str, device: str) -> Run:
    """The network as the server runs it; a failed capture is an error."""
    if device != "cuda":
        raise RuntimeError("CUDA graphs need a GPU")
    network, capture = _serve(engine, name, device), CudaCapture()
    graphs: dict[torch.Size, Graph] = {}

    def run(tensor: Tensor) -> tuple[Tensor, ...]:
        if tensor.shape not in graphs:
            graphs[tensor.shape] = capture(network, [tensor])
        return graphs[tensor.shape](tensor)

    return run


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:120] if lines else ''}"


FORMS: Mapping[str, Form] = {
    "TorchScript": partial(_serve, Engine.TORCHSCRIPT),
    "CUDA graph": partial(_graph, Engine.TORCHSCRIPT),
    FLOAT16: partial(_serve, Engine.TORCHSCRIPT_FP16),
    f"{FLOAT16}, CUDA graph": partial(_graph, Engine.TORCHSCRIPT_FP16),
}
"""The forms in which a server can run a network."""
