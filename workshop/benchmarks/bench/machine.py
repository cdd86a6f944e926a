"""`plates bench --machine`: the CPU's instructions, and the engine and kernels of each network."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import openvino
import torch
from numpy.typing import NDArray

from orchestrator.contract import DETECTOR
from orchestrator.networks import openvino_ir
from orchestrator.networks.engines import INSTRUCTION_FLAGS, Choice, Engine, explain, read_flags
from orchestrator.networks.export import load_networks, represent
from orchestrator.networks.registry import NETWORKS
from orchestrator.serving.supervisor.launch.command import UNLESS_SET
from orchestrator.serving.supervisor.options import ServerOptions
from workshop.benchmarks.processes import set_variables
from workshop.evaluation.running_engines import name_engines
from workshop.reporting.machine import describe_machine
from workshop.reporting.tables import Cell, format_figure, format_table

SIZES = dict.fromkeys(NETWORKS, (4, 3, 24, 94)) | {DETECTOR: (1, 736, 960, 3)}
"""The shape of each network's input: as for a picture of 1280x960 with four plates."""
WARM_UP, RUNS = 2, 10
"""Inferences before those that are measured, and the number of these."""
CANDIDATES = (Engine.OPENVINO_INT8, Engine.OPENVINO, Engine.TORCHSCRIPT)
"""The engines for a CPU."""
SHOWN = 3
"""The number of kernels that are shown of each network."""
EXCEPTIONS = {
    Engine.TORCHSCRIPT: "a detector of another project runs as it is",
    Engine.OPENVINO: "no 8-bit form of these weights",
}
"""The reason why a network has this engine and not the chosen one."""
Kernels = Mapping[str, float]
"""The share of a network's time that each kernel takes, by its name in the engine."""
Parts = Sequence[str]
"""The parts of a kernel's name, in lower case; the last one is its precision."""


@dataclass(frozen=True)
class Instructions:
    """A group of the CPU's instructions.

    Attributes:
        runs: Tells whether a kernel runs on it, if the CPU has it.
    """

    name: str
    runs: Callable[[Parts], bool]

    @property
    def flags(self) -> set[str]:
        """The flags of CPUs that have it, as Linux names them; one is enough."""
        return INSTRUCTION_FLAGS[self.name]


INSTRUCTIONS = (
    Instructions("AVX2", lambda parts: "avx2" in parts),
    Instructions("AVX-512", lambda parts: "avx512" in parts),
    Instructions(
        "VNNI",
        lambda parts: parts[-1] in {"i8", "u8"} and {"avx2", "avx512"} & {*parts} != set(),
    ),
    Instructions(
        "bfloat16",
        lambda parts: parts[-1] == "bf16" and {"avx512", "amx"} & {*parts} != set(),
    ),
    Instructions("AMX", lambda parts: "amx" in parts),
)


@dataclass(frozen=True)
class NetworkFacts:
    """A network, its engine with the reason, and its kernels."""

    name: str
    choice: Choice
    kernels: Kernels


def describe(options: ServerOptions) -> str:
    """Return the text of `plates bench --machine`; no server is started.

    Args:
        options: The options that a server would be started with.

    Raises:
        WeightsError: The weights cannot be used.
    """
    machine, on_gpu = describe_machine(), options.on_gpu()
    threads = options.capacity().threads
    choices = find_choices(options.engine, options.weights, on_gpu=on_gpu)
    facts = [
        NetworkFacts(name, choice, find_kernels(name, choice.engine, options, threads))
        for name, choice in choices.items()
    ]
    return "\n\n".join(
        (
            f"{machine.cpu}, {machine.cores} cores; threads of one inference: {threads}",
            format_instructions(read_flags(), facts),
            format_networks(facts),
            format_times(measure_engines(options.weights, threads)),
        )
    )


def find_choices(engine: Engine, weights: Path, *, on_gpu: bool) -> dict[str, Choice]:
    """Return the engine that a server runs each network with, and the reason."""
    chosen = explain(engine, on_gpu=on_gpu)
    return {
        name: chosen
        if engine_of_network is chosen.engine
        else Choice(engine_of_network, EXCEPTIONS[engine_of_network])
        for name, engine_of_network in name_engines(chosen.engine, weights).items()
    }


def find_kernels(name: str, engine: Engine, options: ServerOptions, threads: int) -> Kernels:
    """Return the kernels of a network, slowest first, by a run that is profiled.

    PyTorch reports only the best instruction set that it supports on this CPU.
    """
    if not engine.is_openvino:
        best = "cuda" if options.on_gpu() else torch.backends.cpu.get_cpu_capability()
        return {f"pytorch_{best.lower()}_f32": 1.0}
    model = represent(name, options.weights, options.choose_engine())
    profiled = {**openvino_ir.choose_options(model, threads), "PERF_COUNT": True}
    request = openvino.Core().compile_model(model, "CPU", profiled).create_infer_request()
    for _ in range(WARM_UP + 1):
        request.infer({0: make_input(name)})
    seconds: dict[str, float] = {}
    for layer in request.profiling_info:
        spent = layer.real_time.total_seconds()
        seconds[layer.exec_type] = seconds.get(layer.exec_type, 0.0) + spent
    whole = sum(seconds.values())
    return {
        kernel: seconds[kernel] / whole for kernel in sorted(seconds, key=lambda k: -seconds[k])
    }


def make_input(name: str) -> NDArray[np.uint8] | NDArray[np.float32]:
    """Return noise as the input of a network, the same every time."""
    rng = np.random.default_rng(0)
    if NETWORKS[name].dtype == "uint8":
        return rng.integers(0, 256, SIZES[name], dtype=np.uint8)
    return rng.random(SIZES[name], np.float32)


def measure_engines(weights: Path, threads: int) -> dict[Engine, dict[str, float]]:
    """Return the milliseconds of one inference on the CPU, the least of all runs, by network.

    A process of its own measures, with the variables and settings of a server's workers: PyTorch's
    threads would otherwise spin, and numbers near 0 would be slow.
    """
    spawn = multiprocessing.get_context("spawn")
    with set_variables({**UNLESS_SET, **os.environ}), ProcessPoolExecutor(1, spawn) as pool:
        return {
            engine: pool.submit(_measure_engine, weights, engine, threads, RUNS).result()
            for engine in CANDIDATES
        }


def _measure_engine(weights: Path, engine: Engine, threads: int, runs: int) -> dict[str, float]:
    torch.set_num_threads(threads)
    torch.set_flush_denormal(True)
    networks = load_networks(weights, "cpu", engine, threads)
    milliseconds = {}
    for name in NETWORKS:
        tensors, times = {"": torch.from_numpy(make_input(name))}, []
        for _ in range(WARM_UP + runs):
            began = time.perf_counter()
            networks(name, tensors)
            times.append(time.perf_counter() - began)
        milliseconds[name] = 1e3 * min(times[WARM_UP:])
    return milliseconds


def format_instructions(flags: Sequence[str], facts: Sequence[NetworkFacts]) -> str:
    """Return the table of the instructions: whether the CPU has them, and who uses them."""
    rows: list[tuple[Cell, ...]] = []
    for instructions in INSTRUCTIONS:
        present = sorted(instructions.flags.intersection(flags))
        used = [*_find_users(instructions, facts)] if present else []
        rows.append((instructions.name, ", ".join(present) or "no", ", ".join(used) or "nothing"))
    return format_table(("instructions", "the CPU has", "used by, share of time"), rows)


def _find_users(instructions: Instructions, facts: Sequence[NetworkFacts]) -> Iterator[str]:
    for network in facts:
        share = sum(
            part
            for name, part in network.kernels.items()
            if instructions.runs(name.lower().split("_"))
        )
        if share >= 0.005:
            yield f"{network.name} {100 * share:.0f} %"


def format_networks(facts: Sequence[NetworkFacts]) -> str:
    """Return the table of the networks: engine, reason, slowest kernels."""
    rows = [
        (network.name, network.choice.engine.value, network.choice.reason, _show(network.kernels))
        for network in facts
    ]
    return format_table(("network", "engine", "because", "kernels, share of time"), rows)


def _show(kernels: Kernels) -> str:
    return ", ".join(f"{name} {100 * share:.0f} %" for name, share in [*kernels.items()][:SHOWN])


def format_times(times: Mapping[Engine, Mapping[str, float]]) -> str:
    """Return the table of the engines: milliseconds of one inference of each network."""
    rows = [
        (engine.value, *map(format_figure, figures.values())) for engine, figures in times.items()
    ]
    shapes = (f"{name} {'x'.join(map(str, SIZES[name]))}" for name in NETWORKS)
    return format_table(("engine, ms on the CPU", *shapes), rows)
