"""OpenVINO: saves networks in its intermediate representation, .xml and .bin, and runs them.

Source: OpenVINO 2026, "Model preparation" and "CPU device"; for kept steps `intel_cpu/src/config`.
"""

from __future__ import annotations

import logging
import threading
import warnings
from collections import Counter
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt
import openvino

from orchestrator.contract import INPUT
from orchestrator.host.disk_files import part_of, sync
from orchestrator.networks.engines import has_bfloat16, is_x86
from orchestrator.networks.registry import Network

Array = npt.NDArray[Any]
MAX_SMALL = 192 * 320 * 3
"""Largest number of values of a small picture, such as a tile. Networks for pictures of any size
have a copy for small ones: a copy takes 2 ms longer after a picture of another size."""
KEPT_STEPS = 300
"""Prepared steps that a copy of a network keeps for other sizes of pictures than the last. The
detector needs some 70 of them for each size. A size that is not kept takes 3 ms more. This holds
only on x86: on ARM64 no steps are kept, because kept steps gave wrong numbers there."""
PRECISION = ["plates", "precision"]
"""Key in a file that marks a network which bears less than float32."""
STRIDE = ["plates", "stride"]
"""Key in a file with the number that divides the height and width of each input of a network."""
Shape = tuple[int, ...]
Prepared = TypeVar("Prepared")

CALLS = 64
"""Calls with pictures of one size that make it the frequent one."""

logger = logging.getLogger(__name__)


class FrequentSize(Generic[Prepared]):
    """The first size that comes often; cameras send pictures of one size.

    There is one such size, because a network that is prepared for a size takes some 30 MB.

    Args:
        prepare: Prepares the network for the shape of an input. It runs beside the calls, in a
            thread of its own, and may raise RuntimeError.
    """

    def __init__(self, prepare: Callable[[Shape], Prepared]) -> None:
        self._prepare, self._counts, self._lock = prepare, Counter[Shape](), threading.Lock()
        self._thread: threading.Thread | None = None
        self._prepared: dict[Shape, Prepared] = {}

    def find(self, shape: Shape) -> Prepared | None:
        """Count a call; return the prepared steps of its shape, if it is the frequent one."""
        if self._thread is None:
            self._count(shape)
        return self._prepared.get(shape)

    def _count(self, shape: Shape) -> None:
        with self._lock:
            self._counts[shape] += 1
            if self._counts[shape] == CALLS and self._thread is None:
                self._thread = threading.Thread(target=self._start, args=(shape,))
                self._thread.start()

    def _start(self, shape: Shape) -> None:
        try:
            self._prepared[shape] = self._prepare(shape)
        except RuntimeError as error:  # the copy for any size does the same work
            logger.warning("a network for %s cannot be prepared: %s", [*shape], error)

    def join(self) -> None:
        """Wait until a preparation that has begun has ended."""
        if self._thread is not None:
            self._thread.join()


class Compiled:
    """A network that is ready to run on the CPU; concurrent threads wait for each other.

    A lone call is answered soonest by all threads. While other processes compute, one thread does
    the same work in less CPU time, because it never waits for another thread. The size of pictures
    that one thread gets most often has a copy of its own, which takes a tenth less CPU time and
    answers the same: nothing of its work depends on a size.

    Args:
        model: An .xml file, or a converted network.
        threads: CPU threads of an inference.
        is_busy: Tells whether other processes need the cores, so that one thread has to do.
    """

    def __init__(
        self,
        model: Path | openvino.Model,
        *,
        threads: int = 1,
        is_busy: Callable[[], bool] = lambda: False,
    ) -> None:
        self._model, self._core, self._local = model, openvino.Core(), threading.local()
        self._is_busy = is_busy if threads > 1 else lambda: True
        network = self._read()
        self._stride = int(network.get_rt_info(STRIDE).value) if network.has_rt_info(STRIDE) else 1
        self._alone = self._busy = self._compile(network, threads)
        of_one = choose_options(network, 1)
        if threads > 1:
            self._busy = _copy(self._core, self._alone, of_one)
        takes_any_size = _takes_any_size(network)
        self._small = _copy(self._core, self._alone, of_one) if takes_any_size else None
        self.frequent = FrequentSize(self._compile_for)

    def __call__(self, *inputs: Array) -> tuple[Array, ...]:
        """Run the network once; the answers are copies, which the caller may keep.

        Raises:
            ValueError: Height or width of a picture is no multiple of the network's stride. With
                one thread, OpenVINO itself answers such a picture with wrong numbers.
        """
        if self._stride > 1 and any(size % self._stride for size in inputs[0].shape[1:3]):
            raise ValueError(f"wanted height and width in multiples of {self._stride}")
        request = self._request(self._choose(inputs[0]))
        request.infer(dict(enumerate(inputs)), share_inputs=True, share_outputs=True)
        return tuple(np.array(tensor.data) for tensor in request.output_tensors)

    def _choose(self, first: Array) -> Any:
        """Return the copy of the network for a first input."""
        if self._small and first.size <= MAX_SMALL:
            return self._small
        if not self._is_busy():
            return self._alone
        return (self._small and self.frequent.find(first.shape)) or self._busy

    def _compile_for(self, shape: Shape) -> Any:
        network = self._read()
        network.reshape([*shape])
        return self._compile(network, 1)

    def _compile(self, network: openvino.Model, threads: int) -> Any:
        return self._core.compile_model(network, "CPU", choose_options(network, threads))

    def _read(self) -> openvino.Model:
        if isinstance(self._model, Path):
            return self._core.read_model(self._model)
        return self._model.clone()

    def _request(self, copy: Any) -> Any:
        """Return this thread's inference request of a copy."""
        requests = self._local.__dict__.setdefault("requests", {})
        if copy not in requests:
            requests[copy] = copy.create_infer_request()
        return requests[copy]


def _copy(core: openvino.Core, compiled: openvino.CompiledModel, options: dict[str, Any]) -> Any:
    """Return a copy of a compiled network, in a third of the time of compiling it again."""
    file = BytesIO()
    compiled.export_model(file)
    file.seek(0)
    return core.import_model(file, "CPU", options)


def choose_options(network: openvino.Model, threads: int) -> dict[str, Any]:
    """Return the options with which OpenVINO compiles a network for the CPU.

    Args:
        network: The network.
        threads: CPU threads of an inference.
    """
    options = {
        "INFERENCE_NUM_THREADS": threads,
        "NUM_STREAMS": 1,
        # On CPUs with bfloat16, that is the default. It is quicker, but two plates of 214
        # were lost, except with networks that bear it.
        "INFERENCE_PRECISION_HINT": "bf16" if _may_be_bfloat16(network) else "f32",
        "ENABLE_CPU_PINNING": False,  # other processes use these cores, too
    }
    return {**options, "CPU_RUNTIME_CACHE_CAPACITY": KEPT_STEPS} if is_x86() else options


def _takes_any_size(network: openvino.Model) -> bool:
    """Tell whether the first input is pictures [B, H, W, channels] of any height and width."""
    shape = network.inputs[0].partial_shape
    is_batch = shape.rank.is_static and len(shape) == 4
    return is_batch and shape[1].is_dynamic and shape[2].is_dynamic


def convert(network: Network, module: Any) -> openvino.Model:
    """Convert a network with the tensor names of its Triton model.

    Args:
        network: Its entry in the registry.
        module: The `torch.nn.Module`, with its weights.
    """
    import torch

    example = torch.from_numpy(np.zeros(network.example, network.dtype))
    shape = (openvino.PartialShape(list(network.dims)), np.dtype(network.dtype).type)
    with warnings.catch_warnings():  # tracing is deprecated, but OpenVINO converts it best
        warnings.simplefilter("ignore")
        traced = torch.jit.trace(module.eval(), example, check_trace=False)
        model = openvino.convert_model(traced, input=[shape])
    model.inputs[0].get_tensor().set_names({INPUT})
    for name, output in zip(network.outputs, model.outputs, strict=True):
        output.get_tensor().set_names({name})
    return model


def allow_bfloat16(model: openvino.Model) -> None:
    """Let a network run in bfloat16 on CPUs that multiply it; a saved network keeps this mark."""
    model.set_rt_info("bf16", PRECISION)


def set_stride(model: openvino.Model, stride: int) -> None:
    """Store the number that divides the height and width of a network's input."""
    model.set_rt_info(str(stride), STRIDE)


def _may_be_bfloat16(model: openvino.Model) -> bool:
    return model.has_rt_info(PRECISION) and has_bfloat16()


def save(model: openvino.Model, path: Path) -> None:
    """Write the .xml and its .bin; under their names, a reader never sees half of them.

    A power cut leaves whole files, or none: half of one would end every later start.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = part_of(path)
    openvino.save_model(model, part, compress_to_fp16=False)
    for written, target in ((weights_of(part), weights_of(path)), (part, path)):
        sync(written)
        written.replace(target)


def weights_of(path: Path) -> Path:
    """Return the file with the numbers of an .xml file."""
    return path.with_suffix(".bin")
