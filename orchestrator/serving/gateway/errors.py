"""Refusals: the errors of calls that the gateway does not answer, the same for every protocol."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.errors import Cancelled, Overloaded, PlateError, RequestError, ServerError


class GatewayError(PlateError):
    """The refusal of a call by the gateway.

    Attributes:
        status: HTTP status.
        code: Name of the gRPC status.
        retry_after_s: Seconds until a retry may help. If None, no retry helps.
    """

    status = 400
    code = "INVALID_ARGUMENT"

    def __init__(self, message: str, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class NotFound(GatewayError):
    """The path, model or method does not exist, or not for callers."""

    status, code, reason = 404, "NOT_FOUND", "not served"


class MethodNotAllowed(GatewayError):
    """The path has no such method."""

    status, code, reason = 405, "UNIMPLEMENTED", "not served"


class Unauthenticated(GatewayError):
    """The call has no known key."""

    status, code, reason = 401, "UNAUTHENTICATED", "key"


class KeysUnavailable(GatewayError):
    """The service cannot read its keys at the moment."""

    status, code, reason = 503, "UNAVAILABLE", "no keys"


class BadHost(GatewayError):
    """The request has no host, or several."""

    reason = "host"


class ForeignHost(GatewayError):
    """The request is for a name that does not belong to this service."""

    status, reason = 421, "host"


class ForeignOrigin(GatewayError):
    """The request comes from a page of another site."""

    status, code, reason = 403, "PERMISSION_DENIED", "origin"


class BodyTooLarge(GatewayError):
    """The body is larger than the limit."""

    status, code, reason = 413, "RESOURCE_EXHAUSTED", "size"


class BodyTimeout(GatewayError):
    """The body did not come in time."""

    status, code, reason = 408, "DEADLINE_EXCEEDED", "slow"


class LengthRequired(GatewayError):
    """The body's size was not announced."""

    status, reason = 411, "encoding"


class UnsupportedMedia(GatewayError):
    """The body is compressed, or of a type that is not understood."""

    status, code, reason = 415, "UNIMPLEMENTED", "encoding"


class QuotaExceeded(GatewayError):
    """The client has used up its quota. Other clients are served."""

    status, code, reason = 429, "RESOURCE_EXHAUSTED", "rate"


class HarmfulRequest(GatewayError):
    """The call kills the workers that process it."""

    reason = "harmful"


class ServiceFull(GatewayError, Overloaded):
    """The service has no capacity for calls now."""

    status, code, reason = 503, "UNAVAILABLE", "full"


class Evicted(ServiceFull):
    """A call of better priority evicted this one while it was sending or waiting."""

    reason = "evicted"


class ExtensionAway(GatewayError):
    """The control room cannot be opened now. Recognition goes on."""

    status, code, reason = 503, "UNAVAILABLE", "away"


class DeadlineExceeded(GatewayError):
    """The answer did not come in time."""

    status, code, reason = 504, "DEADLINE_EXCEEDED", "late"

    @classmethod
    def after(cls, seconds: float) -> DeadlineExceeded:
        """Return the error of a call that had so many seconds."""
        rounded_s = float(f"{seconds:.3g}")  # a caller's own timeout may be a millisecond
        return cls(f"wanted an answer within {rounded_s:g} s, got none")


@dataclass(frozen=True)
class Outcome:
    """The outcome of a call, for its caller, the metrics and the audit log.

    Attributes:
        status: HTTP status.
        code: Name of the gRPC status.
        reason: One or two words, from a small set; `ok` for an answer.
        message: Message for the caller.
        retry_after_s: Seconds until a retry may help. If None, no retry helps.
    """

    status: int = 200
    code: str = "OK"
    reason: str = "ok"
    message: str = ""
    retry_after_s: float | None = None


ANSWERED = Outcome()
FAILED = "the service could not answer; its log says why"
RETRY_AFTER_S = 1.0
LEAVING = Outcome(
    503, "UNAVAILABLE", "leaving", "this gateway is about to end; try another", RETRY_AFTER_S
)


def outcome_of(error: Exception) -> Outcome:
    """Return the outcome of a call that raised an error.

    An error that is no PlateError is a fault of ours. Its message only goes to the log.
    """
    message = str(error)
    match error:
        case GatewayError():
            return Outcome(error.status, error.code, error.reason, message, error.retry_after_s)
        case RequestError():
            return Outcome(400, "INVALID_ARGUMENT", error.reason, message)
        case Overloaded() | ServerError():  # full, or briefly not available
            return Outcome(503, "UNAVAILABLE", error.reason, message, RETRY_AFTER_S)
        case Cancelled():
            return Outcome(499, "CANCELLED", error.reason, message)
        case MemoryError():
            reason = Overloaded.reason
            return Outcome(503, "UNAVAILABLE", reason, "wanted memory, got none", RETRY_AFTER_S)
        case PlateError():
            return Outcome(500, "INTERNAL", error.reason, message)
    return Outcome(500, "INTERNAL", "internal", FAILED)


CANCELLED = outcome_of(Cancelled())
"""Outcome of a call whose client disconnected."""
