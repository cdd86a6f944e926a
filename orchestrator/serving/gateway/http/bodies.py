"""Bodies of HTTP calls: size announced, not compressed, not too large, received in time."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import anyio
from starlette.requests import ClientDisconnect, Request

from orchestrator.errors import Cancelled
from orchestrator.serving.gateway.errors import (
    BodyTimeout,
    BodyTooLarge,
    LengthRequired,
    UnsupportedMedia,
)
from orchestrator.serving.gateway.options import Limits

MAX_CONTENT_TYPE = 8192
"""Largest number of bytes of a content type. A parser of its options may take time for each of
them."""


def announced_size(headers: Mapping[str, str], most: int) -> int:
    """Return the size of the body in bytes, from the headers alone.

    Raises:
        GatewayError: The size is not announced or too large, the body is compressed, or its type
            is too long.
    """
    if len(kind := headers.get("content-type", "")) > MAX_CONTENT_TYPE:
        raise UnsupportedMedia(
            f"content-type: wanted at most {MAX_CONTENT_TYPE} bytes, got {len(kind)}"
        )
    encoding = headers.get("content-encoding", "identity")
    if encoding.lower() != "identity":
        raise UnsupportedMedia(f"content-encoding: wanted none, got {encoding[:40]!r}")
    length = headers.get("content-length", "")
    if "transfer-encoding" in headers or not length:
        raise LengthRequired("body: wanted Content-Length, got none; chunks are not taken")
    if not (length.isascii() and length.isdigit()) or len(length) > 18:
        raise LengthRequired(f"content-length: wanted a number, got {length[:40]!r}")
    if int(length) > most:
        raise BodyTooLarge(f"body: wanted at most {most} bytes, got {length}")
    return int(length)


async def read_body(request: Request, limits: Limits, grow: Callable[[int], None]) -> bytes:
    """Return the body.

    Args:
        request: The request.
        limits: Limits of the gateway.
        grow: Takes the bytes that have arrived, and may refuse to hold more.

    Raises:
        BodyTimeout: The body did not come in time.
        Cancelled: The caller hung up.
        GatewayError: `grow` raised it.
    """
    parts: list[bytes] = []
    size = 0
    try:
        with anyio.fail_after(limits.body_s):
            async for part in request.stream():
                size += len(part)
                grow(size)
                parts.append(part)
    except TimeoutError as error:
        raise BodyTimeout(f"body: wanted all of it within {limits.body_s:g} s") from error
    except ClientDisconnect as error:
        raise Cancelled("the caller hung up") from error
    return parts[0] if len(parts) == 1 else b"".join(parts)
