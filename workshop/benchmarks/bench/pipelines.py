"""Opens the pipeline in this process, with the networks and the settings of a server."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from queue import LifoQueue

import torch

from orchestrator.arrays import Array
from orchestrator.imaging.decoding import decode_bgr
from orchestrator.networks.engines import choose
from orchestrator.networks.export import load_networks
from orchestrator.pipeline import Infer, Tensors
from orchestrator.serving.supervisor.options import ServerOptions
from orchestrator.settings import Settings

Parameters = Mapping[str, Mapping[str, str]]
"""The settings of `plate_recognition`, as its config.pbtxt has them."""


@dataclass(frozen=True)
class Pipeline:
    """The pipeline that recognises the pictures: networks, the server's settings, a device."""

    infer: Infer
    settings: Settings
    device: torch.device

    def decode(self, encoded: bytes) -> Array:
        """Return the picture of a file, uint8 [H, W, 3] BGR, in the library of Triton's workers."""
        bgr = decode_bgr(encoded, max_pixels=self.settings.max_pixels)
        on_cpu = self.device.type == "cpu"
        return bgr if on_cpu else torch.from_numpy(bgr).to(self.device)


def open_pipeline(options: ServerOptions, parameters: Parameters) -> Pipeline:
    """Load the networks as a server with these options does."""
    capacity = options.capacity()
    torch.set_num_threads(capacity.threads)
    torch.set_flush_denormal(True)
    on_gpu = options.device != "cpu" and torch.cuda.is_available()
    engine = choose(options.engine, on_gpu=on_gpu)
    where = torch.device("cuda" if on_gpu and not engine.is_openvino else "cpu")
    several = [
        load_networks(options.weights, where, engine, capacity.threads)
        for _ in range(capacity.instances)
    ]
    return Pipeline(share(several), Settings.from_config(parameters), where)


def choose_variables(options: ServerOptions) -> dict[str, str]:
    """Return the environment variables of a process that opens the pipeline."""
    variables = {"OMP_NUM_THREADS": str(options.capacity().threads)}
    if "OMP_WAIT_POLICY" not in os.environ:
        variables["OMP_WAIT_POLICY"] = "PASSIVE"  # idle threads use no CPU
    if options.device == "cpu":
        variables["CUDA_VISIBLE_DEVICES"] = ""
    return variables


def share(several: Sequence[Infer]) -> Infer:
    """Return an `Infer` that runs each call on a free instance, as the server does."""
    free: LifoQueue[Infer] = LifoQueue()
    for infer in several:
        free.put(infer)

    def infer_on_a_free_one(model: str, tensors: Tensors) -> Tensors:
        infer = free.get()
        try:
            return infer(model, tensors)
        finally:
            free.put(infer)

    return infer_on_a_free_one
