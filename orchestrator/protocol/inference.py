"""An infer call and its answer, the same for every protocol of the gateway."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from orchestrator.contract import PROBE

Plain = str | int | float | bool


@dataclass(frozen=True)
class Tensor:
    """One input or output tensor.

    Attributes:
        name: Name of the tensor.
        datatype: KServe's name of its type: UINT8, FP32, BYTES, ...
        shape: Its dimensions, none of them negative.
        data: Row-major, little-endian. In BYTES, 4 bytes of length precede each element.

    Source: KServe "Open Inference Protocol v2", its binary tensor data extension.
    """

    name: str
    datatype: str
    shape: tuple[int, ...]
    data: bytes = field(repr=False)


@dataclass(frozen=True)
class Cost:
    """The cost of answering a call.

    Attributes:
        bytes: Memory that all processes need for it at most.
        calls: Number of usual calls that the call counts as.
    """

    bytes: int = 0
    calls: float = 1.0


USUAL_COST = Cost()


@dataclass(frozen=True)
class InferenceRequest:
    """One infer call.

    Attributes:
        model: Name of the model.
        inputs: Input tensors.
        outputs: Names of the outputs that the caller wants. If empty, all.
        version: Version of the model. If empty, the server chooses.
        id: Request id; empty for none.
        parameters: Request parameters.
        trace: W3C trace headers, `traceparent` and `tracestate`, as they came.
        cost: Cost of answering the call; known after the call was checked.
    """

    model: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[str, ...] = ()
    version: str = ""
    id: str = ""
    parameters: Mapping[str, Plain] = field(default_factory=dict)
    trace: Mapping[str, str] = field(default_factory=dict)
    cost: Cost = field(default=USUAL_COST, compare=False)

    @property
    def is_probe(self) -> bool:
        """True for a health check, which does not count as a picture."""
        return self.id == PROBE


@dataclass(frozen=True)
class InferenceResponse:
    """A model's answer to a call.

    Attributes:
        model: Name of the model.
        version: Version of the model.
        id: Request id of the call.
        outputs: Output tensors that the caller wanted.
    """

    model: str
    version: str
    id: str
    outputs: tuple[Tensor, ...]
