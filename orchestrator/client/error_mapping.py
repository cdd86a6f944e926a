"""Translation of all errors from tritonclient, gRPC and HTTP into our errors."""

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
"""Status for a response that is not an answer of the inference protocol."""
NO_ANSWER = ("connect", "socket", "transport", "dns")
"""Words in gRPC's UNAVAILABLE if no server answered. Without them, the server is full."""
DYING = ("is not healthy", "server not ready", "no available versions", "rst_stream")
"""Messages of a server that lost a worker or is stopping. The last one is that of a load balancer
that lost its server during a call. With any status they mean that another server would have
answered."""
NOT_IT = {"404": "not found", "405": "method not allowed"}
"""Messages, by status, from a server that does not serve the inference protocol at this path or
port."""
UNTRUSTED = re.compile(r"(?:CERTIFICATE_VERIFY_FAILED: |(?=Hostname Verification))([^:.]+)")
"""Pattern of gRPC's message about a certificate, among its messages about connecting."""
LATE = "StatusCode.DEADLINE_EXCEEDED"
GIVEN_UP = {UNREADABLE, "408", "499", "502", "504", "StatusCode.UNIMPLEMENTED"}
"""Statuses from a load balancer, or from another kind of server, in place of our server."""
REFUSED = {
    *("400", "401", "404", "413"),
    *("StatusCode.INVALID_ARGUMENT", "StatusCode.NOT_FOUND", "StatusCode.UNAUTHENTICATED"),
}
INVALID = {"400", "StatusCode.INVALID_ARGUMENT"}
PICTURE_FAULT = re.compile(
    rf"\b(?:{ENCODED}|{ENCODED_CROP}|{PICTURE}|{CROP}|picture size): (?:wanted|damaged)\b"
)
"""Pattern of the messages about a picture that the service or the gateway cannot use."""
TOO_LARGE = "message larger than max"
"""gRPC's message for a call that is too large for any server. Its status is that of a full
server."""
FULL = {"429", "503", "StatusCode.RESOURCE_EXHAUSTED", "StatusCode.UNAVAILABLE"}


class ErrorResponse(InferenceServerException):  # type: ignore[misc]  # it has no types
    """An error response over HTTP.

    Attributes:
        retry_after: Text of the header `Retry-After`, if there was one.
    """

    def __init__(self, message: str, status: str, retry_after: str | None = None) -> None:
        super().__init__(message, status=status)
        self.retry_after = retry_after


@contextmanager
def translate_errors(url: str, timeout_s: float, request_id: str = "") -> Iterator[None]:
    """Translate the errors of a call to our server.

    Raises:
        PlateError: The error for the caller, with the request id at the end.
    """
    named = f" (request {request_id})" if request_id else ""
    try:
        yield
    except InferenceServerException as error:
        kind, message = _error_of(error, url, timeout_s)
        message = message.replace(f"[request id: {request_id}] ", "")  # Triton sometimes adds it
        raise kind(f"{message}{named}") from error
    except ModelError as error:  # in the received arrays; a proxy may be the cause
        raise ServerError(f"{url}: {error}{named}") from error
    except (HTTPError, HTTPException, OSError) as error:
        raise ServerError(f"{_say(_root_of(error), url, timeout_s)}{named}") from error


def _say(root: BaseException, url: str, timeout_s: float) -> str:
    """Return an error of the socket or of Python's HTTP as a sentence."""
    if isinstance(root, BadStatusLine) and not isinstance(root, RemoteDisconnected):
        return f"{url}: wanted an answer, got what is no HTTP; for gRPC write grpc://host:port"
    if isinstance(root, (TimeoutError, ReadTimeoutError)):  # the latter if sending took all time
        return f"{url}: wanted an answer within {timeout_s:g} s, got none"
    if isinstance(root, ssl.SSLCertVerificationError):
        return _say_untrusted(url, root.verify_message)
    what = root if isinstance(root, OSError) else repr(root)
    return f"{url}: wanted an answer, got {what}"


def _say_untrusted(url: str, reason: str) -> str:
    return f"{url}: wanted a certificate that is trusted for this host, got: {reason}"


def _root_of(error: Exception) -> BaseException:
    """Return the error that urllib3 wraps: that of the socket or of Python's HTTP."""
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
    """Return the seconds that the server asked to wait before a retry; 0 if it did not ask.

    Args:
        error: Error that `translate_errors` raised.
    """
    said = error.__cause__
    if isinstance(said, ErrorResponse):
        return parse_retry_after(said.retry_after)
    refused = said.__context__ if said else None  # the cause of tritonclient's error
    if not isinstance(refused, grpc.RpcError):
        return 0.0
    trailers: dict[str, str] = dict(refused.trailing_metadata() or ())
    return parse_retry_after(trailers.get("retry-after"))


def parse_retry_after(text: str | None) -> float:
    """Return the seconds of a `Retry-After` header; 0 if it is missing or cannot be read.

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
    if moment.tzinfo is None:  # "-0000": UTC, with unknown time zone
        moment = moment.replace(tzinfo=timezone.utc)
    return max(0.0, (moment - datetime.now(timezone.utc)).total_seconds())
