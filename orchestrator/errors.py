"""The tree of all errors.

PlateError
├── RequestError      the caller's fault; the server's answer to it  INVALID_ARG
│   ├── PictureError      the picture cannot be used
│   └── ParameterError    a parameter is unknown or out of range
├── ModelError        a network answered wrongly or not at all       INTERNAL
├── Overloaded        no capacity for this request now               UNAVAILABLE
├── Cancelled         the client has cancelled the request           CANCELLED
├── SettingsError     configuration is wrong; stops loading
├── WeightsError      a weight file is missing or not the listed one; stops loading
├── ExtraError        a package is missing that a client alone does not need
├── DataError         labelled data is missing or malformed
└── ServerError       the inference server cannot be started or reached, or gives no answer
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ErrorResponse:
    """The server's response that caused an error. Every attribute is None if there was none.

    Attributes:
        status: HTTP status; None over gRPC.
        grpc_code: Name of the gRPC status code, like `UNAVAILABLE`; None over HTTP. gRPC itself
            sets it if no server answers.
        retry_after_s: Seconds that the server asks to wait before a retry.
    """

    status: int | None = None
    grpc_code: str | None = None
    retry_after_s: float | None = None


NO_RESPONSE = ErrorResponse()


class PlateError(Exception):
    """Base of every error this package raises on purpose.

    Attributes:
        reason: The name under which the server counts and logs a request that failed with it.
        response: The server's response, if a client raises the error because of one.
    """

    reason = "internal"

    def __init__(self, *args: object, response: ErrorResponse = NO_RESPONSE) -> None:
        super().__init__(*args)
        self.response = response


class RequestError(PlateError):
    """The request cannot be answered as it is; a retry does not help."""

    reason = "request"


class PictureError(RequestError):
    """The caller's picture cannot be used."""

    reason = "picture"


class ParameterError(RequestError):
    """A request parameter is unknown or out of range."""

    reason = "parameter"


class ModelError(PlateError):
    """A network answered wrongly or not at all."""

    reason = "model"


class Overloaded(PlateError):  # noqa: N818 - a state of the server, not a fault
    """The server has no capacity for this request now; try again later."""

    reason = "overloaded"


class Cancelled(PlateError):  # noqa: N818 - the caller's wish, not a fault
    """The client of this request does not wait for it any more."""

    reason = "cancelled"


class SettingsError(PlateError):
    """The configuration is wrong."""


class WeightsError(PlateError):
    """A weight file is missing, damaged or not the listed one."""


class ExtraError(PlateError, ImportError):
    """A package is missing that is not installed with the client."""


class DataError(PlateError):
    """Labelled data to measure with is missing or malformed."""


class ServerError(PlateError):
    """The inference server cannot be started or reached, or its answer is invalid."""

    reason = "away"
