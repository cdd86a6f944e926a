"""Failures of sources as plain sentences. They never show a URL's secrets."""

from __future__ import annotations

import errno
import logging
import socket
import ssl
import traceback

import av

from orchestrator.host.text_lines import to_line
from plate_cameras.camera_urls import UNNAMED, show
from plate_cameras.sources.network.addresses import Address
from plate_cameras.sources.network.policy import DEVICE, UNKNOWN


class SourceError(Exception):
    """A source cannot be opened or read; the message is a sentence without secrets.

    Attributes:
        location: URL to which the source redirects; None if it does not.
    """

    def __init__(self, message: str, location: str | None = None) -> None:
        super().__init__(to_line(message))
        self.location = location


LOG = logging.getLogger(__name__)
NO_DATA = "no data came in time"
NO_VIDEO = "the data are no video that can be decoded"
UNAUTHORIZED = "user name or password are wrong (401)"
FORBIDDEN = "access is denied (403)"
NOT_FOUND = "there is no such stream (404)"
SERVER_ERROR = "the server reports an error of its own"
REFUSED = "connection refused. Is the camera on, and the port right?"
AGAIN = "it redirects again and again"
UNREACHABLE = "the host cannot be reached, or its name is not known"
UNTRUSTED = f"{UNREACHABLE}, or its certificate is not trusted. Is tls_ca_file right?"
NO_SUCH_ADDRESS = "this kind of address is not known"
NOT_ALLOWED = "it is damaged, or in none of the formats that are opened (docs/cameras.md)"
UNREACHED = (errno.EIO, errno.EHOSTUNREACH, errno.ENETUNREACH)
NO_MEMORY = "it takes more memory than a decoder may have (docs/cameras.md)"
CLOSED = "the connection was closed by the other side"
SENTENCES: tuple[tuple[type[Exception], str], ...] = (
    (av.HTTPUnauthorizedError, UNAUTHORIZED),
    (av.HTTPForbiddenError, FORBIDDEN),
    (av.HTTPNotFoundError, NOT_FOUND),
    (av.HTTPServerError, SERVER_ERROR),
    (ConnectionRefusedError, REFUSED),
    (ConnectionResetError, CLOSED),
    (ConnectionAbortedError, CLOSED),
    (BrokenPipeError, CLOSED),
    (av.InvalidDataError, NO_VIDEO),
    (av.FileNotFoundError, "there is no such file or device"),
    (av.PermissionError, "access is denied"),
    (av.ProtocolNotFoundError, NO_SUCH_ADDRESS),
    (TimeoutError, NO_DATA),
    (MemoryError, NO_MEMORY),
    (ssl.SSLError, UNTRUSTED),
    (socket.gaierror, UNREACHABLE),
    (av.error.ExitError, NO_DATA),
)


def describe(error: Exception, address: Address, step: str, *, has_timed_out: bool = False) -> str:
    """Return a sentence about an error of PyAV.

    Args:
        error: The error; its own text may hold the URL and is not used.
        address: Address of the source.
        step: The step that failed, `open` or `read`.
        has_timed_out: True if it took as long as the limit. FFmpeg says of RTSP servers that are
            silent that their data are not valid.
    """
    if has_timed_out:
        return f"cannot {step} {address.label}: {NO_DATA}"
    for kind, sentence in SENTENCES:
        if isinstance(error, kind):
            return f"cannot {step} {address.label}: {sentence}"
    code = getattr(error, "errno", None)
    if code == errno.EINVAL and step == "open" and address.kind != DEVICE:
        sentence = NO_SUCH_ADDRESS if address.kind == UNKNOWN else NOT_ALLOWED
        return f"cannot open {address.label}: {sentence}"
    if code in UNREACHED and step == "open" and not address.is_file:
        sentence = UNTRUSTED if address.has_tls else UNREACHABLE
        return f"cannot {step} {address.label}: {sentence}"
    reason = getattr(error, "strerror", None) or type(error).__name__
    return f"cannot {step} {address.label}: {str(reason).lower()}"


def describe_status(status: int) -> str:
    """Return a sentence about the status of an HTTP answer that is no success."""
    sentences = {401: UNAUTHORIZED, 403: FORBIDDEN, 404: NOT_FOUND}
    return sentences.get(status, SERVER_ERROR if status >= 500 else f"it answers with {status}")


def describe_redirect(location: str) -> str:
    """Return a sentence about a redirect that is not followed."""
    place = "an address" if show(location) == UNNAMED else show(location)
    return (
        f"it redirects to {place}, another host, port or protocol. If you trust it, write that"
        " address into url"
    )


def log_fault(name: str, error: Exception) -> None:
    """Log an unexpected error of a camera, or of all, without its text: that may hold a URL."""
    trace = "".join(traceback.format_tb(error.__traceback__))
    LOG.error("%s: %s in the decoder\n%s", name, type(error).__name__, trace)
