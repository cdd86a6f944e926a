"""Error messages that callers get after a failure."""

from importlib import import_module

import pytest

from orchestrator import errors


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.PictureError, "INVALID_ARG"),
        (errors.ParameterError, "INVALID_ARG"),
        (errors.RequestError, "INVALID_ARG"),
        (errors.Overloaded, "UNAVAILABLE"),
        (errors.Cancelled, "CANCELLED"),
        (errors.ModelError, "INTERNAL"),
        (errors.PlateError, "INTERNAL"),
    ],
)
def test_a_caller_hears_the_message_and_triton_the_kind(
    triton, error: type[errors.PlateError], code: str
) -> None:
    failures = import_module("orchestrator.triton.failures")
    triton_error = failures.fail(
        triton.InferenceRequest(), error("picture: wanted pixels, got none")
    ).error()
    assert triton_error.message() == "picture: wanted pixels, got none"
    assert triton_error.code() == getattr(triton.TritonError, code)
