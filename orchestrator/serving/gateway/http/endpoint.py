"""One HTTP request: admits the caller, reads the body, reports every error in one form."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from orchestrator.serving.gateway.call import Call
from orchestrator.serving.gateway.data_plane import DataPlane, Identify
from orchestrator.serving.gateway.errors import Evicted, Outcome, outcome_of
from orchestrator.serving.gateway.http.bodies import announced_size, read_body
from orchestrator.serving.gateway.http.problem_details import headers_of
from orchestrator.serving.gateway.http.protocol import GONE
from orchestrator.serving.gateway.policy.authentication import KEY_HEADERS

UNREAD = {403, 408, 411, 413, 415, 421}
"""Statuses after which the rest of an unwanted body may still come."""
REQUEST_ID = "x-request-id"
CLIENT_GONE = Response(status_code=499)
"""Response for a client that has closed the connection."""


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

    def name(self, request_id: str) -> None:
        """Set the request id for the audit, and for the response if the call fails."""
        self.call.id = self.http.state.request_id = request_id

    async def body(self) -> bytes:
        """Read the body and return it. Each part takes memory as it arrives.

        Raises:
            PlateError: The body is too large, too slow, compressed or of unknown size, or the call
                was evicted.
        """
        limits, admission = self.service.limits, self.service.admission
        announced_size(self.http.headers, limits.body_bytes)
        with admission.receive(self.call):
            return await read_body(self.http, limits, partial(admission.slots.reserve, self.call))


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
        if named := getattr(request.state, "request_id", ""):
            response.headers[REQUEST_ID] = named
        if outcome.status in UNREAD or outcome.reason == Evicted.reason:
            response.headers["connection"] = "close"
        return response
