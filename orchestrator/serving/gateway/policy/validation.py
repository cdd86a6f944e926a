"""Checks of a call before it is forwarded: the contract's tensors, sizes and parameters."""

from __future__ import annotations

import math
import re
import reprlib
from collections.abc import Collection, Iterable
from dataclasses import replace

from orchestrator.contract import (
    CROP,
    ENCODED,
    ENCODED_CROP,
    MODEL,
    OF_A_READING,
    OUTPUTS,
    PICTURE,
    STAGE_SECONDS,
)
from orchestrator.errors import ParameterError, PictureError, RequestError
from orchestrator.imaging.files import from_base64
from orchestrator.imaging.headers import check_file, check_pixels
from orchestrator.serving.gateway.errors import NotFound
from orchestrator.serving.gateway.options import MIB, Limits
from orchestrator.serving.gateway.policy.costs import cost_of
from orchestrator.serving.protocol import bytes_tensors
from orchestrator.serving.protocol.inference import InferenceRequest, Input, PictureFile
from orchestrator.settings import READER_PARAMETERS, REQUEST_PARAMETERS, check_parameters

VERSION = re.compile(r"[0-9]{1,9}")
ALL_OUTPUTS = (*OUTPUTS, STAGE_SECONDS)
TIMEOUT = "timeout"
"""Parameter of any request, microseconds. Triton has it, too."""
LAST_RESPONSE = "triton_enable_empty_final_response"
"""Triton's own parameter, for streams of answers. perf_analyzer sends it with every gRPC call."""


def check_served(model: str, version: str, served: Collection[str]) -> None:
    """Check that callers may reach a model.

    Raises:
        NotFound: Callers may not reach it.
    """
    if model not in served:
        raise NotFound(f"model: wanted one of {', '.join(served)}, got {reprlib.repr(model)}")
    if version and not VERSION.fullmatch(version):
        raise NotFound(f"version: wanted a number, got {reprlib.repr(version)}")


def take_timeout(call: InferenceRequest) -> InferenceRequest:
    """Return a call with its timeout as an attribute, without Triton's own parameters.

    The gateway applies the timeout itself, and serves no streams of answers.

    Raises:
        ParameterError: A parameter of Triton has a wrong value.
    """
    parameters = dict(call.parameters)
    timeout, is_wanted = parameters.pop(TIMEOUT, None), parameters.pop(LAST_RESPONSE, False)
    if not isinstance(is_wanted, bool):
        got = reprlib.repr(is_wanted)
        raise ParameterError(f"{LAST_RESPONSE}: wanted true or false, got {got}")
    if timeout is None:
        return replace(call, parameters=parameters)
    if not isinstance(timeout, int) or isinstance(timeout, bool) or timeout < 1:
        raise ParameterError(
            f"{TIMEOUT}: wanted a whole number of microseconds above 0, got {reprlib.repr(timeout)}"
        )
    return replace(call, parameters=parameters, timeout_s=timeout / 1e6)


def check(call: InferenceRequest, limits: Limits) -> InferenceRequest:
    """Check a call of one of our models, and return the call to forward.

    Names, types and ranges of parameters are checked here, for every protocol. The model itself
    checks the operator's upper limits.

    Raises:
        RequestError: The model cannot answer such a call.
    """
    is_reader = call.model != MODEL
    is_crop = is_reader or [tensor.name for tensor in call.inputs] == [ENCODED_CROP]
    _check_outputs(call.outputs, OF_A_READING if is_reader else ALL_OUTPUTS)
    if call.parameters:
        check_parameters(call.parameters, READER_PARAMETERS if is_crop else REQUEST_PARAMETERS)
    most_pixels = limits.crop_pixels if is_crop else limits.pixels
    if is_reader:
        return _check_pixels(call, _only(call.inputs, CROP), most_pixels)
    tensor = call.inputs[0] if is_crop else _only(call.inputs, PICTURE, ENCODED)
    call = call if call.outputs else replace(call, outputs=tuple(OUTPUTS))
    if tensor.name == PICTURE:
        return _check_pixels(call, tensor, most_pixels)
    return _check_file(call, tensor, limits, most_pixels)


def _check_outputs(wanted: Iterable[str], known: Collection[str]) -> None:
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise RequestError(
            f"outputs: wanted some of {', '.join(known)}, got {reprlib.repr(unknown[0])}"
        )


def _check_file(
    call: InferenceRequest, given: Input, limits: Limits, most_pixels: int
) -> InferenceRequest:
    """Return a call with its picture file, decoded from base64 if needed, its header and cost."""
    name, sent = given.name, _file_of(given)
    file = from_base64(sent)
    header = check_file(file, most_pixels)
    cost = cost_of(len(file), header)
    if cost.bytes > limits.picture_bytes:
        raise PictureError(
            f"{name}: wanted a picture that takes up to {limits.picture_mb} MiB to unpack, got "
            f"one of {header.width}x{header.height} pixels that takes {cost.bytes // MIB} MiB"
        )
    picture = given if file is sent else PictureFile(name, file)
    return replace(call, inputs=(picture,), header=header, cost=cost)


def _file_of(given: Input) -> bytes:
    if isinstance(given, PictureFile):
        return given.content
    if (given.datatype, given.shape) != ("BYTES", (1,)):
        raise PictureError(f"{given.name}: wanted BYTES [1], got {_kind(given)}")
    (file,) = bytes_tensors.decode(given)
    return file


def _only(inputs: tuple[Input, ...], *names: str) -> Input:
    if len(inputs) != 1 or inputs[0].name not in names:
        got = reprlib.repr([tensor.name for tensor in inputs]) if inputs else "none"
        wanted = f"exactly one of {' and '.join(names)}" if len(names) > 1 else f"{names[0]} alone"
        raise RequestError(f"inputs: wanted {wanted}, got {got}")
    return inputs[0]


def _check_pixels(call: InferenceRequest, tensor: Input, most: int) -> InferenceRequest:
    """Return a call with its cost, if the number of bytes of its pixels fits their shape."""
    shape = tensor.shape
    if tensor.datatype != "UINT8" or len(shape) != 3 or shape[2] != 3:
        raise PictureError(f"{tensor.name}: wanted UINT8 [height, width, 3], got {_kind(tensor)}")
    check_pixels(shape[1], shape[0], most)
    if tensor.size != math.prod(shape):
        raise PictureError(
            f"{tensor.name}: wanted {math.prod(shape)} bytes by its shape, got {tensor.size}"
        )
    return replace(call, cost=cost_of(tensor.size))


def _kind(tensor: Input) -> str:
    return f"{reprlib.repr(tensor.datatype)[1:-1]} {reprlib.repr(list(tensor.shape))}"
