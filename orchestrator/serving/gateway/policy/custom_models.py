"""Checks calls of the operator's own models against the metadata of each model."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from orchestrator.errors import RequestError
from orchestrator.serving.gateway.policy.costs import cost_of
from orchestrator.serving.protocol import bytes_tensors
from orchestrator.serving.protocol.arrays import BYTES, SIZES
from orchestrator.serving.protocol.inference import InferenceRequest, Input

ANY = -1
"""A size of a shape that the model leaves open."""


def check_by_metadata(call: InferenceRequest, metadata: Any) -> InferenceRequest:
    """Return a call if its tensors are those of its model.

    Triton itself refuses a call that lacks an input of the model.

    Args:
        call: Call of any model.
        metadata: Triton's `ModelMetadataResponse` for the model.

    Raises:
        RequestError: A tensor is not known, or its type, shape or size is wrong.
    """
    inputs = {tensor.name: tensor for tensor in metadata.inputs}
    _check_known("inputs", [tensor.name for tensor in call.inputs], inputs)
    _check_known("outputs", call.outputs, {output.name: output for output in metadata.outputs})
    for tensor in call.inputs:
        _check_tensor(tensor, inputs[tensor.name])
    return replace(call, cost=cost_of(call.size))


def _check_known(label: str, names: list[str] | tuple[str, ...], specs: Mapping[str, Any]) -> None:
    unknown = [name for name in names if name not in specs]
    if unknown:
        raise RequestError(
            f"{label}: wanted some of {', '.join(specs)}, got {reprlib.repr(unknown[0])}"
        )


def _check_tensor(tensor: Input, spec: Any) -> None:
    shape = tuple(spec.shape)
    is_fitting = len(shape) == len(tensor.shape) and all(
        size in {ANY, sent_size} for size, sent_size in zip(shape, tensor.shape, strict=True)
    )
    if tensor.datatype != spec.datatype or not is_fitting:
        raise RequestError(
            f"{tensor.name}: wanted {spec.datatype} {list(shape)}, "
            f"got {reprlib.repr(tensor.datatype)[1:-1]} {reprlib.repr(list(tensor.shape))}"
        )
    if tensor.datatype == BYTES:
        bytes_tensors.decode(tensor)
        return
    size = SIZES[tensor.datatype] * math.prod(tensor.shape)
    if tensor.size != size:
        raise RequestError(f"{tensor.name}: wanted {size} bytes by its shape, got {tensor.size}")
