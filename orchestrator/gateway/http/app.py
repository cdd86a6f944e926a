"""The gateway's HTTP as an ASGI application: KServe v2, REST, health, metrics and web pages."""

from __future__ import annotations

from functools import partial

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from orchestrator.errors import ServerError
from orchestrator.gateway.data_plane import DataPlane
from orchestrator.gateway.errors import LEAVING, GatewayError, MethodNotAllowed, NotFound, Outcome
from orchestrator.gateway.http import kserve_routes, rest_routes
from orchestrator.gateway.http.endpoint import Endpoint, HttpApi, HttpRequest
from orchestrator.gateway.http.origins import Origins, guard
from orchestrator.gateway.http.page import routes as page_routes
from orchestrator.gateway.http.problem_details import headers_of
from orchestrator.gateway.http.schemas import Alive, Model, Ready
from orchestrator.gateway.ops.metrics import CONTENT_TYPE, join
from orchestrator.gateway.options import Address


def make_app(service: DataPlane) -> ASGIApp:
    """Return the application for callers over HTTP."""
    calls = kserve_routes.calls(service)
    others = [
        *kserve_routes.questions(service),
        *_health(service),
        Route("/metrics", Endpoint(service, rest_routes.REST, "metrics", _metrics_of_callers)),
    ]
    if service.options.has_plates:
        calls += rest_routes.calls(service)
        others += [*rest_routes.pages(service), *page_routes.routes(service.options)]
    routes = [*calls, Mount("/", _pages(service, others))]
    return _guarded(service, Router(routes, redirect_slashes=False))


def make_metrics_app(service: DataPlane) -> ASGIApp:
    """Return the application for Prometheus and probes, if they have a port of their own."""
    pages = _pages(service, [*_health(service), Route("/metrics", partial(_metrics, service))])
    return _guarded(service, pages, service.options.metrics)


def _guarded(service: DataPlane, app: ASGIApp, address: Address | None = None) -> ASGIApp:
    """Return an application that rejects pages of other sites, and all requests at shutdown.

    Args:
        service: The service that the application belongs to.
        app: The application.
        address: Address that it listens at. If None, the address for callers.
    """
    options = service.options
    origins = Origins.at(address or options.http, options.allowed_hosts, options.cors_origins)
    return _sending_elsewhere(service, guard(app, origins, partial(_turn_away, service)))


def _sending_elsewhere(service: DataPlane, app: ASGIApp) -> ASGIApp:
    """Return an application that rejects new requests once the process is to end."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if not service.connections.is_leaving:
            await app(scope, receive, send)
            return
        response = _front_of(scope["path"]).tell(LEAVING)
        response.headers.update(headers_of(LEAVING) | {"connection": "close"})
        await response(scope, receive, send)

    return answer


def _pages(service: DataPlane, routes: list[BaseRoute]) -> Starlette:
    refused = {HTTPException: partial(_refuse, service)}
    pages = Starlette(routes=routes, exception_handlers=refused)
    pages.router.redirect_slashes = False  # a redirect would be built from Host
    return pages


def _health(service: DataPlane) -> list[BaseRoute]:
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


async def _metrics_of_callers(exchange: HttpRequest) -> Response:
    return await _metrics(exchange.service, exchange.request)


async def _metrics(service: DataPlane, _request: Request) -> Response:
    """Return our metrics and Triton's, or only ours while Triton is away."""
    try:
        tritons = await service.triton.metrics()
    except ServerError:
        tritons = b""
    return Response(join(service.metrics.render(), tritons), media_type=CONTENT_TYPE)


async def _turn_away(
    service: DataPlane, scope: Scope, receive: Receive, send: Send, refusal: GatewayError
) -> None:
    """Answer a request that must not reach the application, and count it like any other."""

    async def answer(_exchange: HttpRequest) -> Response:
        raise refusal

    await Endpoint(service, _front_of(scope["path"]), "other", answer, scope["method"])(
        scope, receive, send
    )


def _front_of(path: str) -> HttpApi:
    return kserve_routes.KSERVE if path.startswith("/v2") else rest_routes.REST


async def _refuse(service: DataPlane, request: Request, error: Exception) -> Response:
    """Refuse an unknown path or method. The request is counted like any other."""
    path = request.url.path

    async def answer(_exchange: HttpRequest) -> Response:
        if isinstance(error, HTTPException) and error.status_code == MethodNotAllowed.status:
            raise MethodNotAllowed(f"{path[:200]}: {request.method} is no method of it")
        raise NotFound(f"no such path: {path[:200]}")

    endpoint = Endpoint(service, _front_of(path), "other", answer, request.method)
    response = await endpoint.respond(request)
    response.headers.update(getattr(error, "headers", None) or {})
    return response


def _say(state: Model) -> Response:
    return Response(state.to_json(), media_type=rest_routes.JSON)
