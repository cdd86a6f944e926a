"""Answers requests so that one that fails affects no other; needs no PyTorch and no network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import triton_python_backend_utils as pb_utils

from orchestrator.errors import Cancelled, Overloaded, PlateError, RequestError
from orchestrator.triton.request_log import explain, log_failure


def answer_each(requests: Sequence[Any], answer: Callable[[Any], Sequence[Any]]) -> list[Any]:
    """Return the responses of an `execute`, one for each request.

    Args:
        requests: Triton's requests to the model.
        answer: Returns the output tensors of one request. Any error that it raises is the response
            to that request alone, and a line in the log: see `fail`.
    """
    return [_answer(request, answer) for request in requests]


def _answer(request: Any, answer: Callable[[Any], Sequence[Any]]) -> Any:
    try:
        return pb_utils.InferenceResponse(answer(request))
    except Exception as reason:  # only this request fails; the worker continues
        return fail(request, reason)


def fail(request: Any, reason: Exception) -> Any:
    """Log why a request failed, and return its response.

    Errors of ours keep their kind, such as INVALID_ARG for a `PictureError`. Any other is INTERNAL:
    a fault in the model, so the log has its traceback.
    """
    error = explain(reason)
    log_failure(request.request_id(), error)
    return pb_utils.InferenceResponse(error=pb_utils.TritonError(str(error), _code_of(error)))


def _code_of(error: PlateError) -> Any:
    # Looked up here, not at import: Triton fills its module only after it has imported the model.
    codes = pb_utils.TritonError
    kinds = {
        RequestError: codes.INVALID_ARG,
        Overloaded: codes.UNAVAILABLE,
        Cancelled: codes.CANCELLED,
    }
    return next((c for kind, c in kinds.items() if isinstance(error, kind)), codes.INTERNAL)
