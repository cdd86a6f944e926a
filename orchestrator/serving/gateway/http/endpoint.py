"""One HTTP request: admits the caller, reads the body, reports every error in one form."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

import anyio
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from orchestrator.errors import Cancelled
from orchestrator.serving.gateway.call import Call
from orchestrator.serving.gateway.data_plane import DataPlane, Identify
from orchestrator.serving.gateway.errors import (
    BodyTimeout,
    BodyTooLarge,
    Evicted,
    LengthRequired,
    Outcome,
    UnsupportedMedia,
    outcome_of,
)
from orchestrator.serving.gateway.http.problem_details import headers_of
from orchestrator.serving.gateway.http.protocol import GONE
from orchestrator.serving.gateway.policy.authentication import KEY_HEADERS

UNREAD = {403, 408, 411, 413, 415, 421}
"""Statuses after which the rest of an unwanted body may still come."""
REQUEST_ID = "x-request-id"
MAX_CONTENT_TYPE = 8192
"""Largest number of bytes of a content type. A parser of its options may take time for each of
them."""
CLIENT_GONE = Response(status_code=499)
"""Response for a client that has closed the connection."""


def announced_size(headers: Mapping[str, str], max_bytes: int) -> int:
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
    if int(length) > max_bytes:
        raise BodyTooLarge(f"body: wanted at most {max_bytes} bytes, got {length}")
    return int(length)


@dataclass(frozen=True)
class HttpApi:
    """A protocol over HTTP, and its form of errors.

    Attributes:
        name: One of `metrics.PROTOCOLS`.
        render_error: Makes the response to a call that was rejected or failed.
    """

    name: str
    render_error: Callable[[Outcome], Response]


@dataclass(frozen=True)
class HttpRequest:
    """A request whose caller was admitted.

    Attributes:
        http: The HTTP request.
        call: The call in the gateway.
        service: The service that admitted it.
    """

    http: Request
    call: Call
    service: DataPlane

    async def body(self) -> bytes:
        """Read the body and return it. Each part takes memory as it arrives.

        Raises:
            PlateError: The body is too large, too slow, compressed or of unknown size, the caller
                hung up, or the call was evicted.
        """
        limits, admission = self.service.limits, self.service.admission
        announced_size(self.http.headers, limits.body_bytes)
        parts, size = list[bytes](), 0
        try:
            with admission.receive(self.call), anyio.fail_after(limits.body_s):
                async for part in self.http.stream():
                    size += len(part)
                    admission.slots.reserve(self.call, size)
                    parts.append(part)
        except TimeoutError as error:
            raise BodyTimeout(f"body: wanted all of it within {limits.body_s:g} s") from error
        except ClientDisconnect as error:
            raise Cancelled("the caller hung up") from error
        return parts[0] if len(parts) == 1 else b"".join(parts)


@dataclass(frozen=True)
class Endpoint:
    """The ASGI application of one path, without a framework's layers around it.

    Attributes:
        service: Admits callers.
        api: The protocol. It decides the form of errors.
        kind: Kind of the request, one of a small set.
        handler: Makes the response.
        identify: Finds out who calls without a key; None if such callers need one.
        ignores_keys: Calls count as calls without a key.
        error_headers: Further headers of an error.
    """

    service: DataPlane
    api: HttpApi
    kind: str
    handler: Callable[[HttpRequest], Awaitable[Response]]
    identify: Identify | None = None
    ignores_keys: bool = False
    error_headers: Mapping[str, str] = field(default_factory=dict)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, whatever happens."""
        request, task = Request(scope, receive), asyncio.current_task()
        assert task is not None
        scope[GONE] = task.cancel
        headers = request.headers.items()
        if self.ignores_keys:
            headers = [(name, text) for name, text in headers if name not in KEY_HEADERS]
        address = request.client.host if request.client else ""
        admission = self.service.admit(
            self.api.name, self.kind, address, headers, identify=self.identify
        )
        try:
            async with admission as call:
                response = await self.handler(HttpRequest(request, call, self.service))
        except asyncio.CancelledError:
            response = CLIENT_GONE
        except Exception as error:
            response = self._render_error(request, outcome_of(error))
        scope.pop(GONE, None)  # only the answer is left to send
        await response(scope, receive, send)

    def _render_error(self, request: Request, outcome: Outcome) -> Response:
        response = self.api.render_error(outcome)
        response.headers.update({**headers_of(outcome), **self.error_headers})
        if request_id := getattr(request.state, "request_id", ""):
            response.headers[REQUEST_ID] = request_id
        if outcome.status in UNREAD or outcome.reason == Evicted.reason:
            response.headers["connection"] = "close"
        return response
