"""How the gateway ends a call that it does not answer, told alike over every protocol."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.errors import Cancelled, Overloaded, PlateError, RequestError, ServerError


class Refusal(PlateError):  # noqa: N818 - what the gateway does, not a fault
    """A call that ends at the gateway.

    Attributes:
        status: HTTP's.
        code: The name of gRPC's.
        retry_after_s: When to try again; never when None.
    """

    status = 400
    code = "INVALID_ARGUMENT"

    def __init__(self, message: str, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class NotServed(Refusal):
    """There is no such path, model or method for callers."""

    status, code, reason = 404, "NOT_FOUND", "not served"


class NotAllowed(Refusal):
    """The path has no such method."""

    status, code, reason = 405, "UNIMPLEMENTED", "not served"


class Unauthenticated(Refusal):
    """The call came with no key that is known."""

    status, code, reason = 401, "UNAUTHENTICATED", "key"


class KeysUnknown(Refusal):
    """The service does not know its keys at the moment."""

    status, code, reason = 503, "UNAVAILABLE", "no keys"


class BadHost(Refusal):
    """The request names no host, or several."""

    reason = "host"


class ForeignHost(Refusal):
    """The request came to a name that is not this service's."""

    status, reason = 421, "host"


class ForeignOrigin(Refusal):
    """A page of another site makes the request."""

    status, code, reason = 403, "PERMISSION_DENIED", "origin"


class TooLarge(Refusal):
    """The body is larger than this gateway takes."""

    status, code, reason = 413, "RESOURCE_EXHAUSTED", "size"


class TooSlow(Refusal):
    """The body did not come in time."""

    status, code, reason = 408, "DEADLINE_EXCEEDED", "slow"


class LengthRequired(Refusal):
    """The body's size was not announced."""

    status, reason = 411, "encoding"


class Unsupported(Refusal):
    """The body is compressed, or of a type that is not understood."""

    status, code, reason = 415, "UNIMPLEMENTED", "encoding"


class TooMany(Refusal):
    """The client has used up what it may have; others are served."""

    status, code, reason = 429, "RESOURCE_EXHAUSTED", "rate"


class Harmful(Refusal):
    """The call ends the workers that it is given to."""

    reason = "harmful"


class Full(Refusal, Overloaded):
    """No capacity for anybody's call now."""

    status, code, reason = 503, "UNAVAILABLE", "full"


class Evicted(Full):
    """A call of better priority took the place of one that was sending or waiting."""

    reason = "evicted"


class Late(Refusal):
    """The answer did not come in time."""

    status, code, reason = 504, "DEADLINE_EXCEEDED", "late"


@dataclass(frozen=True)
class Outcome:
    """How a call ended, for its caller, the metrics and the audit.

    Attributes:
        status: HTTP's.
        code: The name of gRPC's.
        reason: One word or two, of a small set; `ok` for an answer.
        message: What the caller is told.
        retry_after_s: When to try again; never when None.
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
    """Return how a call ended that raised an error; one that is no PlateError is a fault of ours.

    The words of such a fault stay in the log.
    """
    said = str(error)
    match error:
        case Refusal():
            return Outcome(error.status, error.code, error.reason, said, error.retry_after_s)
        case RequestError():
            return Outcome(400, "INVALID_ARGUMENT", error.reason, said)
        case Overloaded() | ServerError():  # full, or away for the moment
            return Outcome(503, "UNAVAILABLE", error.reason, said, RETRY_AFTER_S)
        case Cancelled():
            return Outcome(499, "CANCELLED", error.reason, said)
        case PlateError():
            return Outcome(500, "INTERNAL", error.reason, said)
    return Outcome(500, "INTERNAL", "internal", FAILED)
