"""The REST API as routes, and the pages that describe it."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from orchestrator.gateway import rest
from orchestrator.gateway.exchange import Exchange
from orchestrator.gateway.openapi import document
from orchestrator.gateway.problems import problem
from orchestrator.gateway.reference import CSP, page
from orchestrator.gateway.refusals import Outcome
from orchestrator.gateway.service import Service, Visit

JSON, PROBLEM, HTML = "application/json", "application/problem+json", "text/html"
REQUEST_ID = "x-request-id"
LONGEST_ID = 128

Endpoint = Callable[[Request], Awaitable[Response]]


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


def _answer(service: Service, what: str, read: rest.Read) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        exchange = Exchange(request, service, what, tell)
        identity = _id_of(request)

        async def answer(visit: Visit) -> Response:
            body = await exchange.body()
            sent = rest.Sent(
                body=body,
                content_type=request.headers.get("content-type", ""),
                query=request.query_params.multi_items(),
                id=identity,
            )
            results = await read(sent, visit.infer, service.limits)
            return Response(results, media_type=JSON, headers={REQUEST_ID: identity})

        return await exchange.answer(answer)

    return endpoint


def _id_of(request: Request) -> str:
    """Return the caller's name for the request, or a new one."""
    given = request.headers.get(REQUEST_ID, "")
    is_plain = given.isascii() and given.isprintable() and len(given) <= LONGEST_ID
    return given if given and is_plain else uuid.uuid4().hex


def tell(outcome: Outcome) -> Response:
    """Return an error as RFC 9457 has it."""
    return Response(orjson.dumps(problem(outcome)), outcome.status, media_type=PROBLEM)
