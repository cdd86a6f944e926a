"""An inference request and its response, the same for every protocol of the gateway."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from orchestrator.imaging.headers import Header
from orchestrator.serving.protocol import bytes_tensors

Plain = str | int | float | bool


@dataclass(frozen=True)
class Tensor:
    """One input or output tensor.

    Attributes:
        datatype: KServe's name of its type: UINT8, FP32, BYTES, ...
        shape: Its dimensions, none of them negative.
        data: Row-major, little-endian. In BYTES, 4 bytes of length precede each element.

    Source: KServe "Open Inference Protocol v2", its binary tensor data extension.
    """

    name: str
    datatype: str
    shape: tuple[int, ...]
    data: bytes = field(repr=False)

    @property
    def parts(self) -> tuple[bytes, ...]:
        """Its data, in parts."""
        return (self.data,)

    @property
    def size(self) -> int:
        """Bytes of its data."""
        return len(self.data)


@dataclass(frozen=True)
class PictureFile:
    """A picture file as an input: a BYTES tensor of one element, encoded only for Triton.

    Attributes:
        name: Name of the tensor.
        content: The bytes of the file.
    """

    name: str
    content: bytes = field(repr=False)
    datatype: ClassVar[str] = "BYTES"
    shape: ClassVar[tuple[int, ...]] = (1,)

    @property
    def data(self) -> bytes:
        """The data of the tensor, a copy. `parts` has the same bytes without one."""
        return b"".join(self.parts)

    @property
    def parts(self) -> tuple[bytes, ...]:
        """The data of the tensor, in parts."""
        return len(self.content).to_bytes(bytes_tensors.PREFIX, "little"), self.content

    @property
    def size(self) -> int:
        return bytes_tensors.PREFIX + len(self.content)


Input = Tensor | PictureFile


@dataclass(frozen=True)
class Cost:
    """The cost of answering a call.

    Attributes:
        bytes: Memory that all processes need for it at most.
        calls: Number of usual calls that the call counts as.
        seconds: Seconds of a core that decoding its picture takes.
    """

    bytes: int = 0
    calls: float = 1.0
    seconds: float = 0.0


USUAL_COST = Cost()


@dataclass(frozen=True)
class InferenceRequest:
    """One inference request.

    Attributes:
        model: Name of the model.
        inputs: Input tensors, or a picture file.
        outputs: Names of the outputs that the caller wants. If empty, all.
        version: Version of the model. If empty, the server chooses.
        id: Request id; empty for none.
        trace: W3C trace headers, `traceparent` and `tracestate`, as they came.
        timeout_s: Seconds that the caller waits; known after the call was checked.
        cost: Cost of answering the call; known after the call was checked.
        header: Header of its picture file; known after the call was checked. None for pixels.
    """

    model: str
    inputs: tuple[Input, ...]
    outputs: tuple[str, ...] = ()
    version: str = ""
    id: str = ""
    parameters: Mapping[str, Plain] = field(default_factory=dict)
    trace: Mapping[str, str] = field(default_factory=dict)
    timeout_s: float = math.inf
    cost: Cost = field(default=USUAL_COST, compare=False)
    header: Header | None = field(default=None, compare=False)

    @property
    def size(self) -> int:
        """Bytes of its inputs."""
        return sum(tensor.size for tensor in self.inputs)


@dataclass(frozen=True)
class InferenceResponse:
    """A model's response to a request.

    Attributes:
        model: Name of the model.
        version: Version of the model.
        id: Request id.
        outputs: Output tensors that the caller wanted.
        request: The checked request; None if the response was not made for one.
    """

    model: str
    version: str
    id: str
    outputs: tuple[Tensor, ...]
    request: InferenceRequest | None = field(default=None, compare=False, repr=False)
