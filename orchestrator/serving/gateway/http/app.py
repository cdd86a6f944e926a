"""The gateway's HTTP as an ASGI application: KServe v2, REST, health, metrics and web pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from types import MappingProxyType

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import Receive, Scope, Send

from orchestrator.errors import PlateError, ServerError
from orchestrator.host.loopback import is_own
from orchestrator.serving.gateway.data_plane import DataPlane
from orchestrator.serving.gateway.errors import (
    LEAVING,
    ExtensionAway,
    GatewayError,
    MethodNotAllowed,
    NotFound,
    Outcome,
)
from orchestrator.serving.gateway.http import kserve_routes, rest_routes
from orchestrator.serving.gateway.http.api_docs.openapi_schemas import NO_PART
from orchestrator.serving.gateway.http.endpoint import Endpoint, HttpApi, HttpRequest
from orchestrator.serving.gateway.http.extension import Extension, contain
from orchestrator.serving.gateway.http.origins import Origins, allow_pages
from orchestrator.serving.gateway.http.page import routes as page_routes
from orchestrator.serving.gateway.http.problem_details import headers_of
from orchestrator.serving.gateway.http.schemas import Alive, Model, Ready
from orchestrator.serving.gateway.http.snapshot_api import snapshot_routes
from orchestrator.serving.gateway.http.vision_api import vision, vision_routes
from orchestrator.serving.gateway.ops.metrics import CONTENT_TYPE, join, without_names
from orchestrator.serving.gateway.options import Address
from orchestrator.serving.gateway.policy.authentication import has_key
from orchestrator.triton import shared_metrics


class App:
    """The ASGI application of one port. Rejects pages of other sites, and all calls at shutdown.

    Args:
        service: The service that the application belongs to.
        routes: Routes of the requests.
        address: Address that it listens at. If None, the address for callers.

    Attributes:
        router: Finds the route of a request. It may be replaced.
    """

    def __init__(
        self, service: DataPlane, routes: Sequence[Route], address: Address | None = None
    ) -> None:
        options = service.options
        self._service = service
        self._origins = Origins.at(
            address or options.http, options.allowed_hosts, options.cors_origins
        )
        self._answer = allow_pages(self._route, self._origins)
        self.router = Router(routes, redirect_slashes=False)  # it would be built from Host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._service.connections.is_leaving:
            response = _api_of(scope["path"]).render_error(LEAVING)
            response.headers.update(headers_of(LEAVING) | {"connection": "close"})
            await response(scope, receive, send)
            return
        try:
            self._origins.check(scope)
        except GatewayError as refusal:
            await self._reject(refusal, scope, receive, send)
            return
        await self._answer(scope, receive, send)

    async def _route(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["app"] = self  # routes then raise their errors
        try:
            await self.router(scope, receive, send)
        except HTTPException as error:
            headers = dict(error.headers or {})
            await self._reject(self._refusal_of(scope, headers), scope, receive, send, headers)

    def _refusal_of(self, scope: Scope, headers: Mapping[str, str]) -> GatewayError:
        if "Allow" in headers:
            return MethodNotAllowed(f"method: wanted {headers['Allow']}, got {scope['method']}")
        if self._service.is_extension_away:
            return ExtensionAway("the control room cannot be opened now; the log says why", 5.0)
        return NotFound(f"no such path: {scope['path'][:200]}")

    async def _reject(
        self,
        refusal: GatewayError,
        scope: Scope,
        receive: Receive,
        send: Send,
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Reject a request that has no endpoint. It is counted like any other."""

        async def reject(_request: HttpRequest) -> Response:
            raise refusal

        kind = getattr(scope.get("endpoint"), "kind", "other")
        api = _api_of(scope["path"])
        if api is rest_routes.REST and page_routes.wants_page(scope):
            render = partial(page_routes.missing_page, scope, self._service.options)
            api = replace(api, render_error=render)
        endpoint = Endpoint(self._service, api, kind, reject, error_headers=headers)
        await endpoint(scope, receive, send)


def make_app(service: DataPlane, extension: Extension | None = None) -> App:
    """Return the application for callers over HTTP.

    Args:
        service: The service.
        extension: More routes; None for none.
    """
    metrics = Endpoint(service, rest_routes.REST, "metrics", _metrics_of_callers)
    identify = contain(extension.identify) if extension else None
    has_plates = service.options.has_plates
    routes = [  # those of pictures first, because Starlette compares one after another
        *(rest_routes.infer_routes(service, identify) if has_plates else ()),
        *kserve_routes.infer_routes(service),
        *kserve_routes.metadata_routes(service),
        *_health_routes(service),
        Route("/metrics", metrics, methods=["GET"]),
        *(extension.routes(service) if extension else ()),
    ]
    if has_plates:
        describe = extension.describe if extension else lambda: NO_PART
        routes += snapshot_routes.routes(service)
        routes += vision_routes.routes(service)
        routes += rest_routes.document_routes(service, describe)
        routes += page_routes.routes(service.options)
    return App(service, routes)


def make_metrics_app(service: DataPlane) -> App:
    """Return the application for Prometheus and probes, if they have a port of their own."""
    routes = [*_health_routes(service), Route("/metrics", partial(_metrics, service))]
    return App(service, routes, service.options.metrics)


def _health_routes(service: DataPlane) -> list[Route]:
    canary = service.canary

    async def healthz(_request: Request) -> Response:
        if canary.is_alive():
            return _to_json(Alive(status="alive"))
        return rest_routes.render_error(_not_ready(canary.age_s))

    async def readyz(_request: Request) -> Response:
        if await service.is_ready():
            broken_parts, age_s = [*service.broken_parts()], round(canary.age_s, 1)
            return _to_json(Ready(status="ready", canary_age_s=age_s, broken=broken_parts))
        return rest_routes.render_error(_not_ready(canary.age_s))

    return [Route("/healthz", healthz), Route("/readyz", readyz)]


def _not_ready(age_s: float) -> Outcome:
    message = f"wanted a server that reads plates, got none: the last was read {age_s:.0f} s ago"
    return Outcome(503, "UNAVAILABLE", "not ready", message)


async def _metrics_of_callers(request: HttpRequest) -> Response:
    """Return the metrics; names of keys are for administrators of all groups alone."""
    page = await _render_metrics(request.service)
    is_shown = request.call.client.administers_all
    return Response(page if is_shown else without_names(page), media_type=CONTENT_TYPE)


async def _metrics(service: DataPlane, request: Request) -> Response:
    """Return the metrics; names of keys are for this machine and for administrators alone."""
    page = await _render_metrics(service)
    if not await _may_see_names(service, request):
        page = without_names(page)
    return Response(page, media_type=CONTENT_TYPE)


async def _may_see_names(service: DataPlane, request: Request) -> bool:
    headers, address = request.headers.items(), request.client.host if request.client else ""
    if not has_key(headers):
        return is_own(service.proxies.client_of(address, headers))
    with suppress(PlateError):
        async with service.admit(rest_routes.REST.name, "metrics", address, headers) as call:
            return call.client.administers_all
    return False


async def _render_metrics(service: DataPlane) -> bytes:
    """Return our metrics, its workers' and Triton's; only the former two while Triton is away."""
    try:
        tritons = await service.triton.metrics()
    except ServerError:
        tritons = b""
    folder = service.options.worker_metrics
    workers = shared_metrics.render(folder) if folder else b""
    return join(service.metrics.render(), workers + tritons)


def _api_of(path: str) -> HttpApi:
    if path in snapshot_routes.PATHS:
        return snapshot_routes.SNAPSHOT
    if path == vision.PATH:
        return vision_routes.VISION
    return kserve_routes.KSERVE if path.startswith("/v2") else rest_routes.REST


def _to_json(state: Model) -> Response:
    return Response(state.to_json(), media_type=rest_routes.JSON)
