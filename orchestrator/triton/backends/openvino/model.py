"""A Python-based Triton backend named `openvino`, for servers that have no OpenVINO backend.

A model repository made for Triton's own OpenVINO backend (config.pbtxt, 1/model.xml, 1/model.bin)
works with this one unchanged.

Source: Triton Inference Server, "Python-based Backends" and "OpenVINO Backend".
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import triton_python_backend_utils as pb_utils

from orchestrator.host.resources import give_back_freed
from orchestrator.networks.openvino_ir import Array, Compiled
from orchestrator.triton.batching import BatchingModel
from orchestrator.triton.busy_workers import BusyWorkers


class TritonPythonModel(BatchingModel[Array]):
    def initialize(self, args: Mapping[str, str]) -> None:
        give_back_freed()
        path = self.configure(args, "model.xml")
        threads = int(os.environ.get("OMP_NUM_THREADS", "1"))
        is_busy = partial(BusyWorkers.of_server().need_cores_of, threads)
        self.model = Compiled(path, threads=threads, is_busy=is_busy)

    def read_tensor(self, tensor: Any) -> Array:
        array: Array = np.from_dlpack(tensor)  # `as_numpy` copies
        return array

    def concatenate(self, parts: Sequence[Array]) -> Array:
        return np.concatenate(parts)

    def infer(self, inputs: Sequence[Array]) -> tuple[Array, ...]:
        return self.model(*inputs)

    def make_tensor(self, name: str, array: Array) -> Any:
        return pb_utils.Tensor(name, array)
