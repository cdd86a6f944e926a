"""An infer call and its answer, as every protocol of the gateway means them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from orchestrator.contract import PROBE
from orchestrator.gateway.costs import USUAL_COST, Cost

Plain = str | int | float | bool


@dataclass(frozen=True)
class Tensor:
    """One input or output.

    Attributes:
        name: Of the tensor.
        datatype: KServe's name of its type: UINT8, FP32, BYTES, ...
        shape: Its dimensions, none of them negative.
        data: Row-major, little-endian; an element of BYTES behind its length in 4 bytes.

    Source: KServe "Open Inference Protocol v2", its binary tensor data extension.
    """

    name: str
    datatype: str
    shape: tuple[int, ...]
    data: bytes = field(repr=False)


@dataclass(frozen=True)
class Call:
    """One infer call.

    Attributes:
        model: Which one.
        inputs: What it is given.
        outputs: Names of those that are wanted; all when empty.
        version: Of the model; the server's choice when empty.
        id: Names the call; empty for none.
        parameters: Request parameters.
        trace: W3C trace headers, `traceparent` and `tracestate`, as they came.
        cost: What it takes to answer it; known once it was checked.
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
        """A health check's: counted as no picture."""
        return self.id == PROBE


@dataclass(frozen=True)
class Answer:
    """What a model answered to a call.

    Attributes:
        model: Which one.
        version: Of the model.
        id: That of the call.
        outputs: Those that were wanted.
    """

    model: str
    version: str
    id: str
    outputs: tuple[Tensor, ...]
