"""The error response of a failed request; needs neither PyTorch nor a network."""

from __future__ import annotations

from typing import Any

import triton_python_backend_utils as pb_utils

from orchestrator.errors import Cancelled, Overloaded, PlateError, RequestError


def failed(error: PlateError) -> Any:
    """Return the response that tells one client the error."""
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
