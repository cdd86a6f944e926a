"""The gateway's HTTP as an ASGI application: KServe v2, REST, health, metrics, documentation."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from orchestrator.errors import ServerError
from orchestrator.gateway import kserve_routes, rest_routes
from orchestrator.gateway.exchange import Exchange
from orchestrator.gateway.metrics import CONTENT_TYPE, join
from orchestrator.gateway.refusals import NotAllowed, NotServed, Outcome
from orchestrator.gateway.schemas import Alive, Model, Ready
from orchestrator.gateway.service import Service, Visit

Endpoint = Callable[[Request], Awaitable[Response]]


def make_app(service: Service) -> Starlette:
    """Return what others reach over HTTP."""
    routes = [
        *kserve_routes.routes(service),
        *rest_routes.routes(service),
        *_health(service),
        Route("/metrics", _metrics_of_callers(service)),
        Route("/", _home),
    ]
    return Starlette(routes=routes, exception_handlers={HTTPException: _unrouted(service)})


def make_metrics_app(service: Service) -> Starlette:
    """Return what Prometheus and probes reach, where they have a port of their own."""

    async def show(_request: Request) -> Response:
        return await _metrics(service)

    routes = [*_health(service), Route("/metrics", show)]
    return Starlette(routes=routes, exception_handlers={HTTPException: _unrouted(service)})


def _health(service: Service) -> list[Route]:
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


def _metrics_of_callers(service: Service) -> Endpoint:
    async def show(request: Request) -> Response:
        async def answer(_visit: Visit) -> Response:
            return await _metrics(service)

        return await Exchange(
            request, service, rest_routes.FRONT, "metrics", rest_routes.tell
        ).answer(answer)

    return show


async def _metrics(service: Service) -> Response:
    """Return ours and Triton's; ours alone while Triton is away."""
    try:
        tritons = await service.triton.metrics()
    except ServerError:
        tritons = b""
    return Response(join(service.metrics.render(), tritons), media_type=CONTENT_TYPE)


async def _home(_request: Request) -> Response:
    return RedirectResponse("docs")


def _unrouted(service: Service) -> Callable[[Request, Exception], Awaitable[Response]]:
    """Return what refuses a path or method that is not there: a visit like any other."""

    async def refuse(request: Request, error: Exception) -> Response:
        async def answer(_visit: Visit) -> Response:
            if isinstance(error, HTTPException) and error.status_code == 405:
                raise NotAllowed(f"{request.method}: not a method of this path")
            raise NotServed(f"no such path: {request.url.path[:200]}")

        is_kserve = request.url.path.startswith("/v2")
        front = kserve_routes if is_kserve else rest_routes
        response = await Exchange(request, service, front.FRONT, "other", front.tell).answer(answer)
        response.headers.update(getattr(error, "headers", None) or {})
        return response

    return refuse


def _say(state: Model) -> Response:
    return Response(state.to_json(), media_type=rest_routes.JSON)
