"""What tritonclient, gRPC and HTTP raise when a call fails, told as our errors: only here."""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from http.client import BadStatusLine, HTTPException, RemoteDisconnected

import grpc
from tritonclient.utils import InferenceServerException
from urllib3.exceptions import HTTPError, ProtocolError, ReadTimeoutError, SSLError

from orchestrator.contract import CROP, ENCODED, ENCODED_CROP, PICTURE
from orchestrator.errors import (
    ModelError,
    Overloaded,
    PictureError,
    PlateError,
    RequestError,
    ServerError,
)

UNREADABLE = "unreadable"
"""Status of what came in place of an answer of the inference protocol."""
NO_ANSWER = ("connect", "socket", "transport", "dns")
"""Words of gRPC's UNAVAILABLE when nobody answered; else the server said it, being full."""
DYING = ("is not healthy", "server not ready", "no available versions", "rst_stream")
"""Words of a server that lost a worker or is stopping, and of a balancer that lost the server while
it was at work. Whatever error they come as, another server would have answered."""
NOT_IT = {"404": "not found", "405": "method not allowed"}
"""What the inference protocol's HTTP says, by status, where the path or the port is another's."""
UNTRUSTED = re.compile(r"(?:CERTIFICATE_VERIFY_FAILED: |(?=Hostname Verification))([^:.]+)")
"""What gRPC says of a certificate, amid what it says of its attempts to connect."""
LATE = "StatusCode.DEADLINE_EXCEEDED"
GIVEN_UP = {UNREADABLE, "408", "499", "502", "504", "StatusCode.UNIMPLEMENTED"}
"""What a balancer, or a server of something else, answers in place of one of ours."""
REFUSED = {
    *("400", "401", "404", "413"),
    *("StatusCode.INVALID_ARGUMENT", "StatusCode.NOT_FOUND", "StatusCode.UNAUTHENTICATED"),
}
INVALID = {"400", "StatusCode.INVALID_ARGUMENT"}
PICTURE_FAULT = re.compile(
    rf"\b(?:{ENCODED}|{ENCODED_CROP}|{PICTURE}|{CROP}|picture size): (?:wanted|damaged)\b"
)
"""What the service, or the gateway before it, says of a picture that it cannot use."""
TOO_LARGE = "message larger than max"
"""gRPC's words, under the status of a server that is full, for a call that no server would take."""
FULL = {"429", "503", "StatusCode.RESOURCE_EXHAUSTED", "StatusCode.UNAVAILABLE"}


class Refusal(InferenceServerException):  # type: ignore[misc]  # it has no types
    """What was answered over HTTP in place of an answer.

    Attributes:
        retry_after: The header's text, if there was one.
    """

    def __init__(self, message: str, status: str, retry_after: str | None = None) -> None:
        super().__init__(message, status=status)
        self.retry_after = retry_after


@contextmanager
def translate_errors(url: str, timeout_s: float, request_id: str = "") -> Iterator[None]:
    """Translate the errors of a call to our server.

    Raises:
        PlateError: What the caller can act on, with the request's id at the end.
    """
    named = f" (request {request_id})" if request_id else ""
    try:
        yield
    except InferenceServerException as error:
        kind, message = _error_of(error, url, timeout_s)
        message = message.replace(f"[request id: {request_id}] ", "")  # Triton's, sometimes
        raise kind(f"{message}{named}") from error
    except ModelError as error:  # in the arrays that came; something on the way may have done it
        raise ServerError(f"{url}: {error}{named}") from error
    except (HTTPError, HTTPException, OSError) as error:
        raise ServerError(f"{_say(_root_of(error), url, timeout_s)}{named}") from error


def _say(root: BaseException, url: str, timeout_s: float) -> str:
    """Return what the socket or Python's HTTP said as a sentence."""
    if isinstance(root, BadStatusLine) and not isinstance(root, RemoteDisconnected):
        return f"{url}: wanted an answer, got what is no HTTP; for gRPC write grpc://host:port"
    if isinstance(root, (TimeoutError, ReadTimeoutError)):  # the latter where sending took it all
        return f"{url}: wanted an answer within {timeout_s:g} s, got none"
    if isinstance(root, ssl.SSLCertVerificationError):
        return _say_untrusted(url, root.verify_message)
    what = root if isinstance(root, OSError) else repr(root)
    return f"{url}: wanted an answer, got {what}"


def _say_untrusted(url: str, reason: str) -> str:
    return f"{url}: wanted a certificate that is trusted for this host, got: {reason}"


def _root_of(error: Exception) -> BaseException:
    """Return what urllib3 wraps: what the socket or Python's HTTP said."""
    if isinstance(error, HTTPError) and error.__cause__ is not None:
        return error.__cause__
    if isinstance(error, (ProtocolError, SSLError)) and isinstance(error.args[-1], Exception):
        return error.args[-1]
    return error


def _error_of(
    error: InferenceServerException, url: str, timeout_s: float
) -> tuple[type[PlateError], str]:
    status, message = str(error.status() or ""), error.message()
    words = message.lower()
    is_unheard = status == "StatusCode.UNAVAILABLE" and any(word in words for word in NO_ANSWER)
    is_dying = any(word in words for word in DYING)
    is_another = NOT_IT.get(status) == words
    if status == LATE:
        return ServerError, f"{url}: wanted an answer within {timeout_s:g} s, got {message}"
    if is_unheard and (untrusted := UNTRUSTED.search(message)):
        return ServerError, _say_untrusted(url, untrusted[1])
    if is_unheard or is_dying or is_another or status in GIVEN_UP:
        return ServerError, f"{url}: wanted an answer, got {message}"
    if status in INVALID and PICTURE_FAULT.search(message):
        return PictureError, message
    if status in REFUSED or TOO_LARGE in words:
        return RequestError, message
    if status in FULL:
        return Overloaded, message
    return ModelError, f"{url}: {message}"


def asked_pause_s(error: PlateError) -> float:
    """Return how long the server asked to wait before the next try; 0 where it did not.

    Args:
        error: As `translate_errors` raised it.
    """
    said = error.__cause__
    if isinstance(said, Refusal):
        return parse_retry_after(said.retry_after)
    refused = said.__context__ if said else None  # what tritonclient made its error of
    if not isinstance(refused, grpc.RpcError):
        return 0.0
    trailers: dict[str, str] = dict(refused.trailing_metadata() or ())
    return parse_retry_after(trailers.get("retry-after"))


def parse_retry_after(text: str | None) -> float:
    """Return the seconds that a `Retry-After` asks for; 0 for none, or none that can be read.

    Source: RFC 9110, 10.2.3: whole seconds, or a date.
    """
    if text is None:
        return 0.0
    if text.strip().isdecimal():
        return float(text)
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return 0.0
    if moment.tzinfo is None:  # "-0000": UTC that tells no place
        moment = moment.replace(tzinfo=timezone.utc)
    return max(0.0, (moment - datetime.now(timezone.utc)).total_seconds())
