"""Runs the networks in the worker of the model that uses them: `plates serve --one-model`.

The pipeline gets an `Infer`, as from `bls`, and does not know the difference. So do the clients:
answers, errors, stages and heartbeats are the same.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from orchestrator.arrays import Infer, Tensors
from orchestrator.contract import INPUT
from orchestrator.errors import Cancelled
from orchestrator.host.heartbeat import Heartbeat
from orchestrator.networks.own_files import OwnFile, read_list
from orchestrator.networks.registry import NETWORKS
from orchestrator.networks.runs import Networks, Run, run_openvino, run_torchscript
from orchestrator.triton.batching import describe_failure
from orchestrator.triton.bls import CANCELLED, error_of, infer_for
from orchestrator.triton.busy_workers import BusyWorkers
from orchestrator.triton.country import folder_of, formats_beside

BUSY_S = 0.1
"""Time for which a worker computes with one thread after it has seen another one compute. Without
it, an inference that begins while the other worker fetches its next call takes all cores: on two
cores a call then costs a tenth more CPU time."""


class InferFor(Protocol):
    """Gives one of Triton's requests its `Infer`; the heartbeat is that of the worker."""

    def __call__(self, request: Any, *, heartbeat: Heartbeat) -> Infer: ...


def choose_infer(args: Mapping[str, str]) -> InferFor:
    """Load the networks that lie beside a model's code; without any, the model calls others.

    Args:
        args: The arguments that Triton passes to `initialize`.
    """
    folder = folder_of(args)
    files = read_list(folder)
    if not files:
        return infer_for
    networks = Networks(_load(folder, files), formats_beside(args))
    for name, network in files.items():
        for shape in network.warm_up:
            networks(name, {INPUT: np.zeros(shape, NETWORKS[name].dtype)})
    return partial(infer_here, networks, {name: file.hang_s for name, file in files.items()})


def infer_here(
    networks: Infer, hang_s: Mapping[str, float], request: Any, *, heartbeat: Heartbeat
) -> Infer:
    """Return an `Infer` that runs the networks in this process, for one request.

    A request that its client has cancelled is not continued.

    Args:
        networks: Runs the networks.
        hang_s: The most seconds of one inference of each network.
        request: Triton's request to the model.
        heartbeat: The worker's heartbeat; it shows how long a network may take.
    """
    is_first = True

    def infer(model: str, tensors: Tensors) -> Tensors:
        nonlocal is_first
        if is_first and request.is_cancelled():
            raise Cancelled(CANCELLED)
        is_first = False
        with heartbeat.step(hang_s[model]):
            try:
                return networks(model, tensors)
            except Exception as error:  # the same error as that of a network's own worker
                message = describe_failure(tuple(tensors.values()), error)
                raise error_of(model, message) from error

    return infer


def _load(folder: Path, files: Mapping[str, OwnFile]) -> dict[str, Run]:
    """Load networks. A lone request is computed by all threads, one of many by one each."""
    threads = int(os.environ.get("OMP_NUM_THREADS", "1"))
    is_busy = partial(BusyWorkers.of_server(BUSY_S).need_cores_of, threads)
    return {name: _load_run(folder / file.file, threads, is_busy) for name, file in files.items()}


def _load_run(path: Path, threads: int, is_busy: Callable[[], bool]) -> Run:
    if path.suffix == ".xml":
        return run_openvino(path, threads, is_busy)
    import torch

    torch.set_num_threads(threads)
    torch.set_flush_denormal(True)
    run = run_torchscript(torch.jit.load(str(path)).eval())

    def run_unoptimized(*tensors: Any) -> tuple[Any, ...]:
        with torch.jit.optimized_execution(False):  # type: ignore[attr-defined]
            return run(*tensors)

    return run_unoptimized
