"""Downloads pictures from web servers, within limits of size and time."""

from __future__ import annotations

import base64
import re
import ssl
import time
from functools import lru_cache, partial
from pathlib import Path
from urllib.parse import unquote

from urllib3 import BaseHTTPResponse, PoolManager, Retry, Timeout
from urllib3.exceptions import HTTPError

from orchestrator.cli.recognition.address_policy import AddressPolicy, make_web
from orchestrator.cli.recognition.picture_source import MAX_BYTES, MAX_MB, Source
from orchestrator.errors import PictureError

SCHEMES = ("http://", "https://")
WAIT_S = 10.0
"""Longest wait for a web server's answer, and between two parts of its answer."""
MAX_DURATION_S = 60.0
"""Longest time of one download."""
REDIRECTS = 5
PIECE_BYTES = 1 << 16
CONNECTIONS = 64
OK = 200
AUTHORITIES = "SSL_CERT_FILE may name a file with its authority"


def is_url(name: str) -> bool:
    """Tell whether a name is the URL of a picture; names with other schemes count as paths."""
    return name.lower().startswith(SCHEMES)


def picture_at(url: str, policy: AddressPolicy) -> Source:
    """Return the picture at a URL; it is downloaded when it is read.

    A user and password in the URL are sent, and stand in no result and no message.
    """
    public_url, _ = split_credentials(url)
    return Source(public_url, Path(_file_name(public_url)), partial(fetch, url, policy))


def split_credentials(url: str) -> tuple[str, dict[str, str]]:
    """Return a URL without its user and password, and the header that sends them; empty for none.

    A redirect to another host does not get the header.
    """
    scheme, _, location = url.partition("://")
    host = re.split("[/?#]", location, maxsplit=1)[0]
    user, at, _ = host.rpartition("@")
    if not at:
        return url, {}
    name, _, password = user.partition(":")
    basic = f"{unquote(name)}:{unquote(password)}".encode()
    header = {"authorization": f"Basic {base64.b64encode(basic).decode()}"}
    return f"{scheme}://{location[len(user) + 1 :]}", header


def fetch(
    url: str,
    policy: AddressPolicy,
    *,
    max_bytes: int = MAX_BYTES,
    max_duration_s: float = MAX_DURATION_S,
) -> bytes:
    """Return the content of a URL; uses no proxy and keeps no cookie.

    Args:
        url: An http or https URL; redirects may lead only to such URLs.
        policy: The addresses to which it may lead, redirects included.
        max_bytes: Largest content.
        max_duration_s: Longest time of the whole download.

    Raises:
        PictureError: It cannot be downloaded within the limits.
    """
    deadline = time.monotonic() + max_duration_s
    try:
        web = _make_web(policy) if policy is AddressPolicy.TYPED else _shared_web(policy)
        address, headers = split_credentials(url)
        response = web.request("GET", address, headers=headers, preload_content=False)
        try:
            return _receive(response, max_bytes, deadline)
        finally:
            response.close()  # reading the rest only to keep the connection costs too much
    except (HTTPError, OSError, ValueError) as error:
        raise PictureError(f"cannot be fetched: {_reason_of(error)}") from error


def _reason_of(error: Exception) -> str:
    reason = getattr(error, "reason", None) or error
    causes = (cause for cause in getattr(reason, "args", ()) if isinstance(cause, OSError))
    root = next(causes, reason)
    if isinstance(root, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {root.verify_message}. {AUTHORITIES}"
    return str(reason).rpartition(": ")[2]  # the part before it names an object of urllib3


def _receive(response: BaseHTTPResponse, max_bytes: int, deadline: float) -> bytes:
    if response.status != OK:
        raise PictureError(f"wanted a picture, got HTTP {response.status} {response.reason}")
    content = bytearray()
    while piece := response.read1(PIECE_BYTES):
        content += piece
        if len(content) > max_bytes:
            raise PictureError(f"wanted a picture of up to {MAX_MB} MB, got a larger one")
        if time.monotonic() > deadline:
            raise PictureError("wanted a picture in time, got a part of one")
    return bytes(content)


@lru_cache(maxsize=len(AddressPolicy))
def _shared_web(policy: AddressPolicy) -> PoolManager:
    return _make_web(policy)


def _make_web(policy: AddressPolicy) -> PoolManager:
    return make_web(
        policy,
        maxsize=CONNECTIONS,
        timeout=Timeout(connect=WAIT_S, read=WAIT_S),
        retries=Retry(REDIRECTS, connect=0, read=0, other=0, redirect=REDIRECTS),
    )


def _file_name(url: str) -> str:
    """Return the last part of a URL's path as a valid file name."""
    path = url.partition("//")[2].partition("?")[0].partition("#")[0].partition("/")[2]
    name = unquote(path).rpartition("/")[2].replace("\0", "")
    return name if name not in {"", ".", ".."} else "picture"
