"""The REST API as routes, and the pages that describe it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from orchestrator.gateway import rest
from orchestrator.gateway.exchange import Exchange
from orchestrator.gateway.openapi import document
from orchestrator.gateway.options import Limits
from orchestrator.gateway.problems import MEDIA_TYPE, problem
from orchestrator.gateway.reference import CSP, page
from orchestrator.gateway.refusals import Outcome
from orchestrator.gateway.schemas import Model
from orchestrator.gateway.service import Service, Visit
from orchestrator.gateway.tracing import trace_of

JSON, HTML = "application/json", "text/html"
FRONT = "rest"
REQUEST_ID = "x-request-id"

Endpoint = Callable[[Request], Awaitable[Response]]
Read = Callable[[rest.Sent, rest.Infer, Limits], Awaitable[Model]]


def routes(service: Service) -> list[Route]:
    """Return the routes of REST and of its documentation."""
    described = document(service.options.wants_keys, service.limits)
    api, html = orjson.dumps(described), page(described)

    async def openapi(_request: Request) -> Response:
        return Response(api, media_type=JSON)

    async def docs(_request: Request) -> Response:
        return Response(html, media_type=HTML, headers={"content-security-policy": CSP})

    return [
        Route("/v1/recognize", _answer(service, "recognize", rest.recognize), methods=["POST"]),
        Route("/v1/read", _answer(service, "read", rest.read), methods=["POST"]),
        Route("/openapi.json", openapi),
        Route("/docs", docs),
    ]


def _answer(service: Service, what: str, read: Read) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        exchange = Exchange(request, service, FRONT, what, tell)

        async def answer(visit: Visit) -> Response:
            sent = _sent(request, await exchange.body(visit))
            results = await read(sent, visit.infer, service.limits)
            return Response(results.to_json(), media_type=JSON, headers={REQUEST_ID: sent.id})

        return await exchange.answer(answer)

    return endpoint


def _sent(request: Request, body: bytes) -> rest.Sent:
    headers = request.headers
    return rest.Sent(
        body=body,
        content_type=headers.get("content-type", ""),
        query=request.query_params.multi_items(),
        id=rest.request_id(headers.get(REQUEST_ID)),
        trace=trace_of(headers),
    )


def tell(outcome: Outcome) -> Response:
    """Return an error as RFC 9457 has it."""
    return Response(orjson.dumps(problem(outcome)), outcome.status, media_type=MEDIA_TYPE)
