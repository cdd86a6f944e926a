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

from orchestrator.contract import rejection_kind
from orchestrator.errors import (
    NO_RESPONSE,
    ErrorResponse,
    ModelError,
    Overloaded,
    PlateError,
    RequestError,
    ServerError,
)
from orchestrator.host.text_lines import to_line

UNREADABLE = "unreadable"
"""Status for a response that is not an answer of the inference protocol."""
NO_ANSWER = ("connect", "socket", "transport", "dns", "resolv")
"""Words in gRPC's UNAVAILABLE if no server answered. Without them, the server is full."""
UNCONNECTED = {
    "connection refused": "connection refused",
    "name or service not known": "unknown host",
    "nodename nor servname": "unknown host",  # macOS
    "name resolution": "unknown host",
    "domain name not found": "unknown host",
    "no route to host": "no route to the host",
    "network is unreachable": "the network is unreachable",
}
"""Why no connection was made, by words of the system and of gRPC."""
OTHER_PROTOCOLS = {
    "wrong version number": "what is no TLS; for HTTP without TLS write http://host:port",
    "failed parsing http/2": "what is no gRPC; for HTTP write http://host:port",
}
"""The protocol of a port that was addressed by a wrong scheme, by words of OpenSSL or gRPC."""
DYING = ("is not healthy", "server not ready", "no available versions", "rst_stream")
"""Messages of a server that lost a worker or is stopping. A load balancer that lost its server
during a call sends the last status. With any status they mean that another server would have
answered."""
OTHER_SERVER = {"404": "not found", "405": "method not allowed"}
"""Messages, by status, from a server that does not serve the inference protocol at this path or
port."""
PATH_OF_URL = re.compile(r"^(?:\w+://|(?!\w+://))[^/]+(/.*[^/])/*$")
"""Pattern of a server's URL with a path, which is right only for a proxy that serves us there."""
UNTRUSTED = re.compile(r"(?:CERTIFICATE_VERIFY_FAILED: |(?=Hostname Verification))([^:.]+)")
"""Pattern of gRPC's message about a certificate, among its messages about connecting."""
LATE = "StatusCode.DEADLINE_EXCEEDED"
NO_INFERENCE = {UNREADABLE, "408", "499", "502", "504", "StatusCode.UNIMPLEMENTED"}
"""Statuses from a load balancer, or from another kind of server, in place of our server."""
REJECTED_HTTP = {"400", "401", "403", "404", "409", "411", "413", "415", "421"}
REJECTED_GRPC = {
    f"StatusCode.{code}"
    for code in ("INVALID_ARGUMENT", "NOT_FOUND", "UNAUTHENTICATED", "PERMISSION_DENIED")
}
INVALID = {"400", "StatusCode.INVALID_ARGUMENT"}
TOO_LARGE_ANSWER = "client: received message larger"
"""A part of gRPC's message for an answer that is too large."""
TOO_LARGE = re.compile(r"(?:message|body)(?:: wanted| larger than| exceeds)|http2.* 413\b")
"""Pattern of messages for a call that is too large, from our gateway, from gRPC in its languages,
and from a proxy. They have the status of a full server, or UNKNOWN."""
MAX_MESSAGE = 2000
"""Largest number of characters of a server's message: a proxy may send anything."""
FULL = {"429", "503", "StatusCode.RESOURCE_EXHAUSTED", "StatusCode.UNAVAILABLE"}
GRPC_ERRORS = (grpc.aio.BaseError, grpc.FutureTimeoutError, grpc.FutureCancelledError)
FOREIGN = (HTTPError, HTTPException, OSError, *GRPC_ERRORS)
"""Errors of urllib3, of Python's HTTP and sockets, and of gRPC without a status code."""


class RejectedError(InferenceServerException):  # type: ignore[misc]  # it has no types
    """A response without the result that was requested.

    Attributes:
        response: Its status and `Retry-After`.
    """

    def __init__(self, message: str, status: str, response: ErrorResponse = NO_RESPONSE) -> None:
        super().__init__(message, status=status)
        self.response = response


@contextmanager
def translate_errors(url: str, timeout_s: float, request_id: str = "") -> Iterator[None]:
    """Translate the errors of a call to our server. Our own errors pass unchanged.

    Raises:
        PlateError: The error for the caller, with the request id at the end.
    """
    suffix = _name_request(request_id)
    try:
        yield
    except InferenceServerException as error:
        kind, message = _classify(error, url, timeout_s)
        code = _response_of(error).status or error.status()
        if str(code) in OTHER_SERVER and (path := PATH_OF_URL.search(url)):
            kind, message = ServerError, f"{message}. {_hint_at_path(url, path[1])}"
        message = message.replace(f"[request id: {request_id}] ", "")  # Triton sometimes adds it
        raise kind(f"{message}{suffix}", response=_response_of(error)) from error
    except grpc.RpcError as error:
        response = _response_of_grpc(error)
        message = f"{url}: wanted an answer, got {response.grpc_code or repr(error)}"
        raise ServerError(f"{message}{suffix}", response=response) from error
    except FOREIGN as error:
        raise ServerError(f"{_describe(_root_of(error), url, timeout_s)}{suffix}") from error


@contextmanager
def translate_output_errors(url: str, request_id: str) -> Iterator[None]:
    """Report outputs that do not fit together. A proxy may be the cause, so the server is to blame.

    Raises:
        ServerError: The outputs are no plates.
    """
    try:
        yield
    except ModelError as error:
        raise ServerError(f"{url}: {error}{_name_request(request_id)}") from error


def _hint_at_path(url: str, path: str) -> str:
    server = url.rstrip("/").removesuffix(path)
    return f"The URL has the path {path}, to which a client adds its own paths; try {server}"


def _name_request(request_id: str) -> str:
    """Return the end of an error message that names the request; empty without an id."""
    return f" (request {request_id})" if request_id else ""


def _describe(root: BaseException, url: str, timeout_s: float) -> str:
    """Describe an error of the socket or of Python's HTTP as a sentence."""
    if isinstance(root, BadStatusLine) and not isinstance(root, RemoteDisconnected):
        return f"{url}: wanted an answer, got what is no HTTP; for gRPC write grpc://host:port"
    if isinstance(root, (TimeoutError, ReadTimeoutError)):  # the latter if sending took all time
        return f"{url}: wanted an answer within {timeout_s:g} s, got none"
    if isinstance(root, ssl.SSLCertVerificationError):
        return _describe_untrusted(url, root.verify_message)
    return _describe_silence(url, str(root) if isinstance(root, OSError) else repr(root))


def _describe_silence(url: str, reason: str) -> str:
    """Describe why a server does not answer; without a connection, also what to do next."""
    words = reason.lower()
    for pattern, description in UNCONNECTED.items():
        if pattern in words:
            return f"cannot connect to {url}: {description}. Is the server running? (plates serve)"
    spoken = (protocol for pattern, protocol in OTHER_PROTOCOLS.items() if pattern in words)
    return f"{url}: wanted an answer, got {next(spoken, reason)}"


def _describe_untrusted(url: str, reason: str) -> str:
    return f"{url}: wanted a certificate that is trusted for this host, got: {reason}"


def _root_of(error: Exception) -> BaseException:
    """Return the error that urllib3 wraps: that of the socket or of Python's HTTP."""
    if isinstance(error, HTTPError) and error.__cause__ is not None:
        return error.__cause__
    last = error.args[-1] if error.args else None
    if isinstance(error, (ProtocolError, SSLError)) and isinstance(last, Exception):
        return last
    return error


def _classify(
    error: InferenceServerException, url: str, timeout_s: float
) -> tuple[type[PlateError], str]:
    """Return the class and the message of our error for one of tritonclient."""
    status = str(error.status() or "")
    message = to_line(str(error.message() or ""), MAX_MESSAGE)
    words = message.lower()
    is_unreachable = status == "StatusCode.UNAVAILABLE" and any(word in words for word in NO_ANSWER)
    is_dying = any(word in words for word in DYING)
    is_other_server = OTHER_SERVER.get(status) == words
    if status == LATE:
        return ServerError, f"{url}: wanted an answer within {timeout_s:g} s, got {message}"
    if is_unreachable and (untrusted := UNTRUSTED.search(message)):
        return ServerError, _describe_untrusted(url, untrusted[1])
    if is_unreachable:
        return ServerError, _describe_silence(url, message)
    is_no_answer = is_dying or is_other_server or TOO_LARGE_ANSWER in words
    if is_no_answer or status in NO_INFERENCE:
        return ServerError, f"{url}: wanted an answer, got {message}"
    if status in INVALID:
        return rejection_kind(message), message
    if status in REJECTED_HTTP | REJECTED_GRPC or TOO_LARGE.search(words):
        return RequestError, message
    if status in FULL:
        return Overloaded, message
    return ModelError, f"{url}: {message}"


def _response_of(error: InferenceServerException) -> ErrorResponse:
    if isinstance(error, RejectedError):
        return error.response
    if isinstance(error.__context__, grpc.RpcError):  # tritonclient hides the cause
        return _response_of_grpc(error.__context__)
    return NO_RESPONSE


def _response_of_grpc(error: grpc.RpcError) -> ErrorResponse:
    if not isinstance(error, (grpc.Call, grpc.aio.AioRpcError)):  # without a code
        return NO_RESPONSE
    trailers: dict[str, str] = dict(error.trailing_metadata() or ())
    return ErrorResponse(
        grpc_code=error.code().name,
        retry_after_s=parse_retry_after(trailers.get("retry-after")),
    )


def parse_retry_after(text: str | None) -> float | None:
    """Return the seconds of a `Retry-After` header; None if it is missing or cannot be read.

    Source: RFC 9110, 10.2.3: whole seconds, or a date.
    """
    if text is None:
        return None
    if text.strip().isdecimal():
        return float(text)
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    if moment.tzinfo is None:  # "-0000": UTC, with unknown time zone
        moment = moment.replace(tzinfo=timezone.utc)
    return max(0.0, (moment - datetime.now(timezone.utc)).total_seconds())
