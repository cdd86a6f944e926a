"""Calls other models: arrays to Triton tensors and back through DLPack, without copies."""

from __future__ import annotations

from collections.abc import Awaitable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import triton_python_backend_utils as pb_utils

from orchestrator.arrays import Array, Infer, Tensors
from orchestrator.errors import Cancelled, ModelError, Overloaded, PlateError
from orchestrator.host.heartbeat import Heartbeat
from orchestrator.networks.registry import NETWORKS
from orchestrator.triton import placement
from orchestrator.triton.memory_faults import is_out_of_memory
from orchestrator.triton.placement import CALLER

AWAY = ("not ready", "is not healthy", "Exceeds maximum queue size")
"""Texts of Triton's errors when it stops, has unloaded a model, has lost a worker or is full.
Another server, or this one a moment later, would have answered. So it is when memory runs out. Only
the text of a called model's error arrives here: Triton 2.51 calls every one internal. Its
`pb_utils.is_model_ready` is no substitute: it is true for a model with a dead worker."""

CANCELLED = "the caller has cancelled the call"


class CalledModel(Protocol):
    """A Triton model from its caller's view: an entry of the registry, or any other model."""

    @property
    def outputs(self) -> Collection[str]:
        """Names of the requested outputs."""

    @property
    def answers_on_cpu(self) -> bool:
        """The caller works on the answers on the CPU, so Triton writes them there."""


@dataclass(frozen=True)
class Callee:
    """A model that can be called, but is none of the project's networks."""

    outputs: tuple[str, ...]
    answers_on_cpu: bool = True


Parameters = Mapping[str, str | int | float | bool]


class InferAsync(Protocol):
    """Calls a model and waits, while other calls of the worker continue.

    The outputs are Triton's tensors, because torch has no tensors of text. Use `as_numpy()` or
    `to_torch`, or put them into a response unchanged.
    """

    def __call__(
        self, model: str, tensors: Tensors, parameters: Parameters | None = None
    ) -> Awaitable[dict[str, Any]]: ...


to_numpy = np.from_dlpack
"""Returns a Triton tensor's memory, which is the CPU's, as an array of NumPy."""


def to_torch(tensor: Any) -> Array:
    """Return a Triton tensor's memory as a torch tensor, on the same device."""
    from torch.utils.dlpack import from_dlpack

    return from_dlpack(tensor)


def to_triton(name: str, array: Array) -> Any:
    """Return an array's memory as a Triton tensor; copies it only if it is not contiguous."""
    if isinstance(array, np.ndarray):
        return pb_utils.Tensor(name, np.ascontiguousarray(array))
    return pb_utils.Tensor.from_dlpack(name, array.contiguous())


def infer_for(
    request: Any, models: Mapping[str, CalledModel] = NETWORKS, heartbeat: Heartbeat | None = None
) -> Infer:
    """Return an `Infer` that calls other models for one request.

    The calls inherit the request's id, deadline and trace. A request that its client has cancelled
    is not continued. A caller with arrays of NumPy works on the CPU, so Triton writes every answer
    there, also if the networks are on a GPU.

    Args:
        request: Triton's request to the calling model.
        models: The models that may be called, by name.
        heartbeat: The worker's heartbeat; it shows when the worker waits for another model.
    """
    is_first = True
    heartbeat = heartbeat or Heartbeat()

    def infer(model: str, tensors: Tensors) -> Tensors:
        nonlocal is_first
        if is_first and request.is_cancelled():  # asking takes 0.2 ms, so it is done once
            raise Cancelled(CANCELLED)
        is_first = False
        is_numpy = all(isinstance(tensor, np.ndarray) for tensor in tensors.values())
        child = _child(request, model, models[model], tensors, is_on_cpu=is_numpy)
        with heartbeat.wait():
            answer = child.exec()
        answers = _outputs_of(model, answer, request.request_id())
        to_array = to_numpy if is_numpy else to_torch
        outputs = {name: to_array(tensor) for name, tensor in answers.items()}
        if placement.IS_TRACED:
            for name, tensor in (*tensors.items(), *outputs.items()):
                placement.log_device(model, CALLER, name, getattr(tensor, "device", "cpu"))
        return outputs

    return infer


def infer_async_for(request: Any, models: Mapping[str, CalledModel]) -> InferAsync:
    """Return an `infer_for` for an `async def execute`, with any number of calls at once.

    Such requests are long, so each call first checks that the client still waits.

    Args:
        request: Triton's request to the calling model.
        models: The models that may be called, by name.
    """

    async def infer(
        model: str, tensors: Tensors, parameters: Parameters | None = None
    ) -> dict[str, Any]:
        if request.is_cancelled():
            raise Cancelled(CANCELLED)
        child = _child(request, model, models[model], tensors, parameters)
        return _outputs_of(model, await child.async_exec(), request.request_id())

    return infer


def _outputs_of(model: str, answer: Any, request_id: str) -> dict[str, Any]:
    if answer.has_error():
        raise _error_of(model, answer.error(), request_id)
    return {tensor.name(): tensor for tensor in answer.output_tensors()}


def _child(
    request: Any,
    name: str,
    model: CalledModel,
    tensors: Tensors,
    parameters: Parameters | None = None,
    *,
    is_on_cpu: bool = False,
) -> Any:
    memory: dict[str, Any] = {}
    if is_on_cpu or model.answers_on_cpu:  # else the outputs stay where the model leaves them
        cpu = pb_utils.PreferredMemory(pb_utils.TRITONSERVER_MEMORY_CPU, 0)
        memory = {"preferred_memory": cpu}
    return pb_utils.InferenceRequest(
        model_name=name,
        request_id=request.request_id(),
        inputs=[to_triton(name, tensor) for name, tensor in tensors.items()],
        requested_output_names=[*model.outputs],
        timeout=request.timeout(),
        trace=request.trace(),
        **memory,
        **({"parameters": _sendable(parameters)} if parameters else {}),
    )


def _sendable(parameters: Parameters) -> dict[str, str | int | bool]:
    """Write fractions as text: Triton's workers cannot send floats."""
    return {
        name: repr(value) if isinstance(value, float) else value
        for name, value in parameters.items()
    }


def _error_of(model: str, error: Any, request_id: str) -> PlateError:
    """Return a called model's error, without the caller's own words: Triton quotes the id."""
    message = error.message().replace(f"[request id: {request_id}] ", "")
    is_away = error.code() == pb_utils.TritonError.UNAVAILABLE
    return Overloaded(f"{model}: {message}") if is_away else error_of(model, message)


def error_of(model: str, message: str) -> PlateError:
    """Return the error of a network by its text: away for a moment, or faulty."""
    is_away = any(words in message for words in AWAY) or is_out_of_memory(message)
    return (Overloaded if is_away else ModelError)(f"{model}: {message}")
