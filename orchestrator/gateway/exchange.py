"""One HTTP request: its caller is admitted, its body read, and every error told in one form."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from orchestrator.gateway.bodies import announced_size, read_body
from orchestrator.gateway.connections import hang_up_with
from orchestrator.gateway.problems import headers_of
from orchestrator.gateway.refusals import Outcome, outcome_of
from orchestrator.gateway.service import Service, Visit

UNREAD = {408, 411, 413, 415}
"""Statuses after which the rest of a body may come that nobody wants."""
NOBODY = Response(status_code=499)
"""For a caller who hung up."""

Tell = Callable[[Outcome], Response]


@dataclass(frozen=True)
class Exchange:
    """A request on its way through the gateway.

    Attributes:
        request: As it came.
        service: Answers it.
        front: Which protocol it came over, one of `metrics.FRONTS`.
        what: It asks for: one of a small set.
        tell: Makes the response to a call that was not answered.
    """

    request: Request
    service: Service
    front: str
    what: str
    tell: Tell

    async def answer(self, answer: Callable[[Visit], Awaitable[Response]]) -> Response:
        """Return the response, whatever happens."""
        task = asyncio.current_task()
        assert task is not None
        hang_up_with(self.request.scope, task)
        try:
            return await self._visit(answer)
        except asyncio.CancelledError:
            return NOBODY
        except Exception as error:
            return self._refuse(outcome_of(error))

    async def _visit(self, answer: Callable[[Visit], Awaitable[Response]]) -> Response:
        headers = dict(self.request.headers)
        address = self.request.client.host if self.request.client else ""
        async with self.service.visit(self.front, self.what, address, headers) as visit:
            return await answer(visit)

    async def body(self, visit: Visit) -> bytes:
        """Return the body, for which there was room.

        Raises:
            PlateError: It is not announced or too large, or does not come in time.
        """
        limits = self.service.limits
        visit.expect(announced_size(self.request.headers, limits.body_bytes))
        return await read_body(self.request, limits)

    def _refuse(self, outcome: Outcome) -> Response:
        response = self.tell(outcome)
        response.headers.update(headers_of(outcome))
        if outcome.status in UNREAD:
            response.headers["connection"] = "close"
        return response
