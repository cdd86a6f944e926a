"""The gateway's HTTP as an ASGI application: KServe v2, REST, health, metrics, pages for people."""

from __future__ import annotations

from functools import partial

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from orchestrator.errors import ServerError
from orchestrator.gateway import kserve_routes, rest_routes
from orchestrator.gateway.exchange import Endpoint, Exchange
from orchestrator.gateway.metrics import CONTENT_TYPE, join
from orchestrator.gateway.page import routes as page_routes
from orchestrator.gateway.problems import headers_of
from orchestrator.gateway.refusals import LEAVING, NotAllowed, NotServed, Outcome
from orchestrator.gateway.schemas import Alive, Model, Ready
from orchestrator.gateway.service import Service


def make_app(service: Service) -> ASGIApp:
    """Return what others reach over HTTP."""
    calls = kserve_routes.calls(service)
    others = [
        *kserve_routes.questions(service),
        *_health(service),
        Route("/metrics", Endpoint(service, rest_routes.REST, "metrics", _metrics_of_callers)),
    ]
    if service.options.has_plates:
        calls += rest_routes.calls(service)
        others += [*rest_routes.pages(service), *page_routes.routes(service.options)]
    return _sending_elsewhere(service, Router([*calls, Mount("/", _pages(service, others))]))


def make_metrics_app(service: Service) -> ASGIApp:
    """Return what Prometheus and probes reach, where they have a port of their own."""
    pages = _pages(service, [*_health(service), Route("/metrics", partial(_metrics, service))])
    return _sending_elsewhere(service, pages)


def _sending_elsewhere(service: Service, app: ASGIApp) -> ASGIApp:
    """Return an application that answers nothing new once the process is to end."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if not service.connections.is_leaving:
            await app(scope, receive, send)
            return
        is_kserve = scope["path"].startswith("/v2")
        response = kserve_routes.tell(LEAVING) if is_kserve else rest_routes.tell(LEAVING)
        response.headers.update(headers_of(LEAVING) | {"connection": "close"})
        await response(scope, receive, send)

    return answer


def _pages(service: Service, routes: list[BaseRoute]) -> Starlette:
    refused = {HTTPException: partial(_refuse, service)}
    return Starlette(routes=routes, exception_handlers=refused)


def _health(service: Service) -> list[BaseRoute]:
    canary = service.canary

    async def healthz(_request: Request) -> Response:
        if canary.is_alive():
            return _say(Alive(status="alive"))
        return rest_routes.tell(_silent(canary.age_s))

    async def readyz(_request: Request) -> Response:
        if await service.is_ready():
            return _say(Ready(status="ready", canary_age_s=round(canary.age_s, 1)))
        return rest_routes.tell(_silent(canary.age_s))

    return [Route("/healthz", healthz), Route("/readyz", readyz)]


def _silent(age_s: float) -> Outcome:
    said = f"wanted a server that reads plates, got none: the last was read {age_s:.0f} s ago"
    return Outcome(503, "UNAVAILABLE", "not ready", said)


async def _metrics_of_callers(exchange: Exchange) -> Response:
    return await _metrics(exchange.service, exchange.request)


async def _metrics(service: Service, _request: Request) -> Response:
    """Return ours and Triton's; ours alone while Triton is away."""
    try:
        tritons = await service.triton.metrics()
    except ServerError:
        tritons = b""
    return Response(join(service.metrics.render(), tritons), media_type=CONTENT_TYPE)


async def _refuse(service: Service, request: Request, error: Exception) -> Response:
    """Refuse a path or method that is not there: to a visit like any other."""
    path = request.url.path

    async def answer(_exchange: Exchange) -> Response:
        if isinstance(error, HTTPException) and error.status_code == NotAllowed.status:
            raise NotAllowed(f"{path[:200]}: {request.method} is no method of it")
        raise NotServed(f"no such path: {path[:200]}")

    front = kserve_routes.KSERVE if path.startswith("/v2") else rest_routes.REST
    endpoint = Endpoint(service, front, "other", answer, request.method)
    response = await endpoint.respond(request)
    response.headers.update(getattr(error, "headers", None) or {})
    return response


def _say(state: Model) -> Response:
    return Response(state.to_json(), media_type=rest_routes.JSON)
