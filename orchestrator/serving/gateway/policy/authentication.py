"""Finds the client of a call: by its key, or by its address."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable

from orchestrator.serving.gateway.errors import Unauthenticated
from orchestrator.serving.gateway.options import Limits
from orchestrator.serving.gateway.policy.api_keys import Keys
from orchestrator.serving.gateway.policy.clients import Client

BEARER = re.compile(r"(?:bearer|token) +(\S+)", re.ASCII | re.IGNORECASE)
"""Value of the header Authorization. Clients of Plate Recognizer write `Token KEY`."""
BASIC = re.compile(r"basic +([A-Za-z0-9+/]{1,512}={0,2})", re.ASCII | re.IGNORECASE)
"""HTTP Basic with any user and the key as password: most cameras can send nothing else."""
KEY = re.compile(r"[!-~]{1,256}")
"""Pattern of a key: visible ASCII without spaces."""
KEY_HEADERS = ("authorization", "x-api-key")
HOW = "send a key as `Authorization: Bearer KEY` or as `X-API-Key: KEY`"


def authenticate(
    headers: Iterable[tuple[str, str]],
    address: Client,
    keys: Keys | None,
    *,
    wants_key: bool,
    limits: Limits,
) -> Client:
    """Return the client of a call: by its key, or by its address if no key is required.

    A key that comes with a call is always checked. So a wrong key is never treated as no key.

    Args:
        headers: Headers or gRPC metadata of the call: lower-case names, and values.
        address: The client at the caller's IP address.
        keys: Known keys; None if there is no file of keys.
        wants_key: The call needs a key.
        limits: Quotas for keys whose entry names no quota.

    Raises:
        Unauthenticated: The key is malformed, unknown or expired, or a required key is missing.
    """
    sent_keys = []
    for name, text in headers:
        if name == "authorization":
            bearer = BEARER.fullmatch(text.strip())
            sent_keys.append(bearer[1] if bearer else _password_of(text.strip()))
        if name == "x-api-key":
            sent_keys.append(text.strip())
    if not sent_keys and wants_key:
        raise Unauthenticated(f"this gateway wants a key: {HOW}")
    if not sent_keys:
        return address
    if len(sent_keys) > 1:
        raise Unauthenticated(f"wanted one key, got {len(sent_keys)}")
    if not KEY.fullmatch(sent_keys[0]):
        raise Unauthenticated(f"this is no key: {HOW}")
    return (keys or Keys({})).client_of(sent_keys[0], limits)


def _password_of(text: str) -> str:
    """Return the password of HTTP Basic; empty if there is none."""
    basic = BASIC.fullmatch(text)
    try:
        return base64.b64decode(basic[1]).decode().partition(":")[2] if basic else ""
    except ValueError:  # no base64, or no UTF-8
        return ""


def has_key(headers: Iterable[tuple[str, str]]) -> bool:
    """Tell whether a call carries a key, be it a valid one or not."""
    return any(name in KEY_HEADERS for name, _ in headers)
