"""The seam to Triton: torch tensors to Triton tensors and back through DLPack, without copies."""

from __future__ import annotations

from collections.abc import Awaitable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import triton_python_backend_utils as pb_utils
from torch import Tensor
from torch.utils.dlpack import from_dlpack

from orchestrator.errors import Cancelled, ModelError, Overloaded, PlateError
from orchestrator.heartbeat import Heartbeat
from orchestrator.networks.registry import NETWORKS
from orchestrator.pipeline import Infer, Tensors
from orchestrator.triton import placement
from orchestrator.triton.placement import CALLER

AWAY = ("not ready", "is not healthy", "Exceeds maximum queue size", "memory")
"""Words of Triton when it is stopping, has unloaded a model, has lost a worker, is full or has no
memory: another server, or this one a moment later, would have answered. Of a child's error nothing
but the words arrives: Triton 2.51 calls every one of them internal."""


class Served(Protocol):
    """What a caller says of a Triton model: an entry of the registry, or anybody's own."""

    @property
    def outputs(self) -> Collection[str]:
        """Names of the outputs that are wanted."""

    @property
    def answers_on_cpu(self) -> bool:
        """The answers are worked on there: Triton writes them there at once."""


@dataclass(frozen=True)
class Callee:
    """A model that can be called and is none of our networks."""

    outputs: tuple[str, ...]
    answers_on_cpu: bool = True


Parameters = Mapping[str, str | int | float | bool]


class InferAsync(Protocol):
    """Calls a model and waits without holding up the other calls of the worker.

    The outputs are Triton's tensors, because torch has none of text: `as_numpy()`, `to_torch`, or
    into a response as they are.
    """

    def __call__(
        self, model: str, tensors: Tensors, parameters: Parameters | None = None
    ) -> Awaitable[dict[str, Any]]: ...


def to_torch(tensor: Any) -> Tensor:
    """Return a Triton tensor's memory as a torch tensor, where it lies."""
    return from_dlpack(tensor)


def to_triton(name: str, tensor: Tensor) -> Any:
    """Return a torch tensor's memory as a Triton tensor; copies only what is not contiguous."""
    return pb_utils.Tensor.from_dlpack(name, tensor.contiguous())


def infer_for(
    request: Any, models: Mapping[str, Served] = NETWORKS, heartbeat: Heartbeat | None = None
) -> Infer:
    """Return an `Infer` that calls other models on behalf of one request.

    The children inherit the request's id, deadline and trace. A request that its caller has
    given up is not carried on.

    Args:
        request: Triton's, of the model that calls.
        models: What may be called, by name.
        heartbeat: Of the worker, which says so while it waits for another model.
    """
    is_first = True
    heartbeat = heartbeat or Heartbeat()

    def infer(model: str, tensors: Tensors) -> Tensors:
        nonlocal is_first
        if is_first:  # asking takes 0.2 ms: once is enough
            _check_wanted(request)
        is_first = False
        child = _child(request, model, models[model], tensors)
        with heartbeat.wait():
            answer = child.exec()
        answered = _outputs_of(model, answer)
        outputs = {name: to_torch(tensor) for name, tensor in answered.items()}
        if placement.IS_TRACED:
            for name, tensor in (*tensors.items(), *outputs.items()):
                placement.tell(model, CALLER, name, tensor.device)
        return outputs

    return infer


def infer_async_for(request: Any, models: Mapping[str, Served]) -> InferAsync:
    """Return what `infer_for` does for an `async def execute`, with any number of calls in work.

    Whether the caller still waits is asked before each call: such requests are long ones.

    Args:
        request: Triton's, of the model that calls.
        models: What may be called, by name.
    """

    async def infer(
        model: str, tensors: Tensors, parameters: Parameters | None = None
    ) -> dict[str, Any]:
        _check_wanted(request)
        child = _child(request, model, models[model], tensors, parameters)
        return _outputs_of(model, await child.async_exec())

    return infer


def _check_wanted(request: Any) -> None:
    if request.is_cancelled():
        raise Cancelled("the caller has cancelled the call")


def _outputs_of(model: str, answer: Any) -> dict[str, Any]:
    if answer.has_error():
        raise _error_of(model, answer.error())
    return {tensor.name(): tensor for tensor in answer.output_tensors()}


def _child(
    request: Any,
    name: str,
    model: Served,
    tensors: Tensors,
    parameters: Parameters | None = None,
) -> Any:
    return pb_utils.InferenceRequest(
        model_name=name,
        request_id=request.request_id(),
        inputs=[to_triton(name, tensor) for name, tensor in tensors.items()],
        requested_output_names=[*model.outputs],
        timeout=request.timeout(),
        trace=request.trace(),
        **_memory(model),
        **({"parameters": _sendable(parameters)} if parameters else {}),
    )


def _sendable(parameters: Parameters) -> dict[str, str | int | bool]:
    """Write fractions as text: Triton's workers can send no others."""
    return {
        name: repr(value) if isinstance(value, float) else value
        for name, value in parameters.items()
    }


def _memory(model: Served) -> dict[str, Any]:
    """Return where the outputs shall be; without a word they stay where the model leaves them."""
    if not model.answers_on_cpu:
        return {}
    return {"preferred_memory": pb_utils.PreferredMemory(pb_utils.TRITONSERVER_MEMORY_CPU, 0)}


def _error_of(model: str, error: Any) -> PlateError:
    message = error.message()
    is_away = error.code() == pb_utils.TritonError.UNAVAILABLE or any(
        words in message for words in AWAY
    )
    return (Overloaded if is_away else ModelError)(f"{model}: {message}")
