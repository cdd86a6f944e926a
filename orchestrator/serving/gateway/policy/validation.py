"""Checks of a call before it is forwarded: the contract's tensors, sizes and parameters."""

from __future__ import annotations

import math
import re
import reprlib
from collections.abc import Collection, Sequence
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
OF_A_PICTURE = (PICTURE, ENCODED, ENCODED_CROP)
"""Inputs of our model; a request has one of them."""
TIMEOUT = "timeout"
"""Parameter of any request, microseconds. Triton has it, too."""
LAST_RESPONSE = "triton_enable_empty_final_response"
"""Triton's own parameter, for streams of answers. perf_analyzer sends it with every gRPC call."""


def check_served(model: str, version: str, models: Collection[str]) -> None:
    """Check that callers may reach a model.

    Raises:
        NotFound: Callers may not reach it.
    """
    if model not in models:
        raise NotFound(f"model: wanted one of {', '.join(models)}, got {reprlib.repr(model)}")
    if version and not VERSION.fullmatch(version):
        raise NotFound(f"version: wanted a number, got {reprlib.repr(version)}")


def take_timeout(call: InferenceRequest) -> InferenceRequest:
    """Return a call with its timeout as an attribute, without Triton's own parameters.

    The gateway applies the timeout itself, and serves no streams of answers.

    Raises:
        ParameterError: A parameter of Triton has a wrong value.
    """
    parameters = dict(call.parameters)
    timeout = parameters.pop(TIMEOUT, None)
    wants_last_response = parameters.pop(LAST_RESPONSE, False)
    if not isinstance(wants_last_response, bool):
        raise ParameterError(
            f"{LAST_RESPONSE}: wanted true or false, got {reprlib.repr(wants_last_response)}"
        )
    if timeout is None:
        return replace(call, parameters=parameters)
    if not isinstance(timeout, int) or isinstance(timeout, bool) or timeout < 1:
        raise ParameterError(
            f"{TIMEOUT}: wanted a whole number of microseconds above 0, got {reprlib.repr(timeout)}"
        )
    return replace(call, parameters=parameters, timeout_s=timeout / 1e6)


def check(
    call: InferenceRequest, limits: Limits, outputs: Sequence[str] = tuple(OUTPUTS)
) -> InferenceRequest:
    """Check a call of one of our models, and return the call to forward.

    Names, types and ranges of parameters are checked here, for every protocol. The model itself
    checks the operator's upper limits.

    Args:
        call: The call.
        limits: The limits of a picture.
        outputs: Outputs of `plate_recognition` about plates.

    Raises:
        RequestError: The model cannot answer such a call.
    """
    names, is_reader = [tensor.name for tensor in call.inputs], call.model != MODEL
    is_crop = is_reader or names == [ENCODED_CROP]
    known_outputs = OF_A_READING if is_reader else (*outputs, STAGE_SECONDS)
    if unknown := [name for name in call.outputs if name not in known_outputs]:
        raise RequestError(
            f"outputs: wanted some of {', '.join(known_outputs)}, got {reprlib.repr(unknown[0])}"
        )
    if call.parameters:
        check_parameters(call.parameters, READER_PARAMETERS if is_crop else REQUEST_PARAMETERS)
    if len(names) != 1 or names[0] not in ((CROP,) if is_reader else OF_A_PICTURE):
        input_names = f"{CROP} alone" if is_reader else f"exactly one of {PICTURE} and {ENCODED}"
        raise RequestError(
            f"inputs: wanted {input_names}, got {reprlib.repr(names) if names else 'none'}"
        )
    if not call.outputs and not is_reader:
        call = replace(call, outputs=tuple(outputs))
    max_pixels = limits.crop_pixels if is_crop else limits.pixels
    if names[0] in (CROP, PICTURE):
        return _check_pixels(call, call.inputs[0], max_pixels)
    return _check_file(call, call.inputs[0], limits, max_pixels)


def _check_file(
    call: InferenceRequest, tensor: Input, limits: Limits, max_pixels: int
) -> InferenceRequest:
    """Return a call with its picture file, decoded from base64 if needed, its header and cost."""
    if isinstance(tensor, PictureFile):
        content = tensor.content
    elif (tensor.datatype, tensor.shape) == ("BYTES", (1,)):
        (content,) = bytes_tensors.decode(tensor)
    else:
        raise PictureError(f"{tensor.name}: wanted BYTES [1], got {_kind(tensor)}")
    file = from_base64(content)
    header = check_file(file, max_pixels)
    cost = cost_of(len(file), header)
    if cost.bytes > limits.picture_bytes:
        raise PictureError(
            f"{tensor.name}: wanted a picture that takes up to {limits.picture_mb} MiB to unpack, "
            f"got one of {header.width}x{header.height} pixels that takes {cost.bytes // MIB} MiB"
        )
    picture = tensor if file is content else PictureFile(tensor.name, file)
    return replace(call, inputs=(picture,), header=header, cost=cost)


def _check_pixels(call: InferenceRequest, tensor: Input, max_pixels: int) -> InferenceRequest:
    """Return a call with its cost, if the number of bytes of its pixels fits their shape."""
    shape = tensor.shape
    if tensor.datatype != "UINT8" or len(shape) != 3 or shape[2] != 3:
        raise PictureError(f"{tensor.name}: wanted UINT8 [height, width, 3], got {_kind(tensor)}")
    check_pixels(shape[1], shape[0], max_pixels)
    if tensor.size != math.prod(shape):
        raise PictureError(
            f"{tensor.name}: wanted {math.prod(shape)} bytes by its shape, got {tensor.size}"
        )
    return replace(call, cost=cost_of(tensor.size))


def _kind(tensor: Input) -> str:
    return f"{reprlib.repr(tensor.datatype)[1:-1]} {reprlib.repr(list(tensor.shape))}"
