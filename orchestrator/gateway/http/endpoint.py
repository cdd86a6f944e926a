"""One HTTP request: admits the caller, reads the body, reports every error in one form."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from orchestrator.gateway.data_plane import AdmittedRequest, DataPlane
from orchestrator.gateway.errors import Evicted, MethodNotAllowed, Outcome, outcome_of
from orchestrator.gateway.http.bodies import announced_size, read_body
from orchestrator.gateway.http.problem_details import headers_of
from orchestrator.gateway.http.protocol import hang_up_with, stay

UNREAD = {403, 408, 411, 413, 415, 421}
"""Statuses after which the rest of an unwanted body may still come."""
NOBODY = Response(status_code=499)
"""Response for a caller that has closed the connection."""


@dataclass(frozen=True)
class HttpApi:
    """A protocol over HTTP.

    Attributes:
        name: One of `metrics.FRONTS`.
        tell: Makes the response to a call that was refused or failed.
    """

    name: str
    tell: Callable[[Outcome], Response]


@dataclass(frozen=True)
class HttpRequest:
    """A request whose caller was admitted.

    Attributes:
        request: The HTTP request.
        visit: The admitted call.
        service: The service that admitted it.
    """

    request: Request
    visit: AdmittedRequest
    service: DataPlane

    async def body(self) -> bytes:
        """Reserve memory for the body, read it and return it.

        Raises:
            PlateError: The body is too large, too slow, compressed or of unknown size, or the call
                was evicted.
        """
        limits = self.service.limits
        self.visit.expect(announced_size(self.request.headers, limits.body_bytes))
        with self.visit.receive():
            return await read_body(self.request, limits)


@dataclass(frozen=True)
class Endpoint:
    """The ASGI application of one path, without a framework's layers around it.

    Attributes:
        service: Admits callers.
        front: The protocol; it decides the form of errors.
        what: Kind of the request, one of a small set.
        answer: Makes the response.
        method: The only HTTP method that is allowed.
    """

    service: DataPlane
    front: HttpApi
    what: str
    answer: Callable[[HttpRequest], Awaitable[Response]]
    method: str = "GET"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = await self.respond(Request(scope, receive))
        stay(scope)
        await response(scope, receive, send)

    async def respond(self, request: Request) -> Response:
        """Return the response to a request, whatever happens."""
        task = asyncio.current_task()
        assert task is not None
        hang_up_with(request.scope, task)
        try:
            return await self._visit(request)
        except asyncio.CancelledError:
            return NOBODY
        except Exception as error:
            return self._refuse(outcome_of(error))

    async def _visit(self, request: Request) -> Response:
        headers = request.headers.items()
        address = request.client.host if request.client else ""
        async with self.service.visit(self.front.name, self.what, address, headers) as visit:
            if request.method != self.method:
                raise MethodNotAllowed(f"method: wanted {self.method}, got {request.method}")
            return await self.answer(HttpRequest(request, visit, self.service))

    def _refuse(self, outcome: Outcome) -> Response:
        response = self.front.tell(outcome)
        response.headers.update(headers_of(outcome))
        if outcome.status in UNREAD or outcome.reason == Evicted.reason:
            response.headers["connection"] = "close"
        if outcome.status == MethodNotAllowed.status:
            response.headers["allow"] = self.method
        return response
