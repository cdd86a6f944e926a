"""Stands for `triton_python_backend_utils`, the module that Triton gives to its Python workers.

Tensors share memory through DLPack as Triton's do. Requests to other models are answered by what
a test has put in `MODELS`, and noted in `CALLS`; asynchronous ones also in `ASYNC_CALLS`.
"""

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf import json_format, text_format
from tritonclient.grpc.model_config_pb2 import ModelConfig

from tests.samples import PROJECT

TRITONSERVER_MEMORY_CPU = "cpu"
TRITONSERVER_RESPONSE_COMPLETE_FINAL = 1


class Tensor:
    """A named array of any library."""

    def __init__(self, name: str, array: Any) -> None:
        self._name = name
        self._array = array

    @classmethod
    def from_dlpack(cls, name: str, array: Any) -> "Tensor":
        return cls(name, array)

    def name(self) -> str:
        return self._name

    def as_numpy(self) -> np.ndarray:
        return np.asarray(self._array)

    def shape(self) -> list[int]:
        return [*self.as_numpy().shape]

    def __dlpack__(self, **_: object) -> object:
        if isinstance(self._array, np.ndarray) and not self._array.flags.writeable:
            self._array = self._array.copy()  # Triton's tensors have memory of their own
        return self._array.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array.__dlpack_device__()


class TritonError(Exception):
    INTERNAL, INVALID_ARG, NOT_FOUND, UNAVAILABLE, CANCELLED = (
        "internal",
        "invalid argument",
        "not found",
        "unavailable",
        "cancelled",
    )

    def __init__(self, message: str, code: str = INTERNAL) -> None:
        super().__init__(message)
        self._message, self._code = message, code

    def message(self) -> str:
        return self._message

    def code(self) -> str:
        return self._code


class InferenceResponse:
    def __init__(
        self, output_tensors: Sequence[Tensor] = (), error: TritonError | None = None
    ) -> None:
        self._outputs, self._error = list(output_tensors), error

    def output_tensors(self) -> list[Tensor]:
        return self._outputs

    def has_error(self) -> bool:
        return self._error is not None

    def error(self) -> TritonError | None:
        return self._error


@dataclass
class ResponseSender:
    """Sender of a decoupled model's responses; records each response."""

    sent: list[InferenceResponse] = field(default_factory=list)
    is_ended: bool = False

    def send(self, response: InferenceResponse | None = None, flags: int = 0) -> None:
        assert not self.is_ended, "wanted nothing after the end"
        self.sent += [response] if response else []
        self.is_ended = bool(flags & TRITONSERVER_RESPONSE_COMPLETE_FINAL)


@dataclass(frozen=True)
class PreferredMemory:
    kind: str
    device_id: int = 0


class InferenceRequest:
    """A request to us, or one of ours to another model."""

    def __init__(
        self,
        model_name: str = "",
        request_id: str = "",
        inputs: Sequence[Tensor] = (),
        requested_output_names: Sequence[str] = (),
        *,
        timeout: int = 0,
        trace: object = None,
        preferred_memory: PreferredMemory | None = None,
        parameters: dict[str, Any] | None = None,
        is_cancelled: bool = False,
    ) -> None:
        self._model, self._id, self._inputs = model_name, request_id, list(inputs)
        self._outputs, self._timeout, self._trace = list(requested_output_names), timeout, trace
        self._parameters, self._is_cancelled = parameters, is_cancelled
        self.preferred_memory = preferred_memory
        self.sender = ResponseSender()

    def get_response_sender(self) -> ResponseSender:
        return self.sender

    def model_name(self) -> str:
        return self._model

    def request_id(self) -> str:
        return self._id

    def inputs(self) -> list[Tensor]:
        return self._inputs

    def requested_output_names(self) -> list[str]:
        return self._outputs

    def timeout(self) -> int:
        return self._timeout

    def trace(self) -> object:
        return self._trace

    def parameters(self) -> str:
        return json.dumps(self._parameters) if self._parameters else ""

    def is_cancelled(self) -> bool:
        return self._is_cancelled

    def exec(self) -> InferenceResponse:
        CALLS.append(self)
        return MODELS[self._model](self)

    async def async_exec(self) -> InferenceResponse:
        ASYNC_CALLS.append(self)
        await asyncio.sleep(0)
        return self.exec()


def get_input_tensor_by_name(request: InferenceRequest, name: str) -> Tensor | None:
    return next((tensor for tensor in request.inputs() if tensor.name() == name), None)


@dataclass
class Metric:
    buckets: list[float] | None = None
    total: float = 0.0
    observed: list[float] = field(default_factory=list)

    def increment(self, by: float) -> None:
        self.total += by

    def set(self, value: float) -> None:
        self.total = value

    def observe(self, value: float) -> None:
        self.observed.append(value)


class MetricFamily:
    COUNTER, GAUGE, HISTOGRAM = "counter", "gauge", "histogram"

    def __init__(self, name: str, description: str, kind: str) -> None:
        self.kind = kind
        self.metrics: dict[str, Metric] = {}
        FAMILIES[name] = self

    def Metric(  # noqa: N802 - Triton's name
        self, labels: dict[str, str], buckets: list[float] | None = None
    ) -> Metric:
        return self.metrics.setdefault(",".join(labels.values()), Metric(buckets))


MODELS: dict[str, Callable[[InferenceRequest], InferenceResponse]] = {}
CALLS: list[InferenceRequest] = []
ASYNC_CALLS: list[InferenceRequest] = []
FAMILIES: dict[str, MetricFamily] = {}


def forget() -> None:
    """Begin anew, as a worker that has just been started."""
    MODELS.clear()
    CALLS.clear()
    ASYNC_CALLS.clear()
    FAMILIES.clear()


def total(name: str, value: str = "") -> float:
    """Return the total of the metric `plates_{name}` of this label's value."""
    return FAMILIES[f"plates_{name}"].metrics[value].total


def observed(name: str, value: str = "") -> list[float]:
    """Return the observations of the histogram `plates_{name}` of this label's value."""
    return FAMILIES[f"plates_{name}"].metrics[value].observed


def read_config(model: str = "plate_recognition") -> str:
    """Return the config.pbtxt of a model as Triton tells it to a worker."""
    file = PROJECT / "model_repository" / model / "config.pbtxt"
    config = text_format.Parse(file.read_text(), ModelConfig())
    return json_format.MessageToJson(config, preserving_proto_field_name=True)


def arguments_of(folder: Path, **changes: object) -> dict[str, str]:
    """Return what Triton tells a worker of the model `net`, which has changes in its config."""
    config = {
        "max_batch_size": 32,
        "input": [{"name": "input__0", "dims": ["-1"]}],
        "output": [{"name": "output__1", "dims": ["1"]}, {"name": "output__0", "dims": ["2"]}],
        "default_model_filename": "",
        **changes,
    }
    return {
        "model_name": "net",
        "model_config": json.dumps(config),
        "model_repository": str(folder),
        "model_version": "1",
        "model_instance_kind": "CPU",
    }


def arrays_of(response) -> dict[str, list]:
    """Return the outputs of a response as lists."""
    return {tensor.name(): tensor.as_numpy().tolist() for tensor in response.output_tensors()}
