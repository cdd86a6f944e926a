"""Routes of KServe v2 over HTTP: the requests that tritonclient makes, and no others.

Source: KServe "Open Inference Protocol v2", and Triton's extensions for binary tensors and model
configuration.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from orchestrator.errors import RequestError
from orchestrator.serving.gateway.data_plane import DataPlane
from orchestrator.serving.gateway.errors import Outcome
from orchestrator.serving.gateway.http.endpoint import Endpoint, HttpApi, HttpRequest
from orchestrator.serving.gateway.http.json_process import Parser
from orchestrator.serving.gateway.ops.tracing import trace_of
from orchestrator.serving.protocol import kserve_http

JSON = "application/json"
MODELS = ("/v2/models/{model}", "/v2/models/{model}/versions/{version}")
PAGES = {"metadata": "", "config": "/config"}
"""Pages of Triton about a model, and their paths."""


def render_error(outcome: Outcome) -> Response:
    """Return an error in Triton's form."""
    content = kserve_http.error_body(outcome.message)
    return Response(content, outcome.status, media_type=JSON)


KSERVE = HttpApi("kserve-http", render_error)


def infer_routes(service: DataPlane) -> list[Route]:
    """Return the routes of inference requests."""
    infer = Endpoint(service, KSERVE, "infer", partial(_infer, Parser()))
    return [Route(f"{path}/infer", infer, methods=["POST"]) for path in MODELS]


def metadata_routes(service: DataPlane) -> list[Route]:
    """Return the routes for information about the service and its models."""
    routes = [
        Route("/v2", partial(_server_metadata, service)),
        Route("/v2/health/live", partial(_state, service.is_live)),
        Route("/v2/health/ready", partial(_state, service.is_ready)),
    ]
    for path in MODELS:
        for kind, below in PAGES.items():
            page = Endpoint(service, KSERVE, kind, partial(_page, below))
            routes.append(Route(f"{path}{below}", page, methods=["GET"]))
        ready = Endpoint(service, KSERVE, "ready", _model_state)
        routes.append(Route(f"{path}/ready", ready, methods=["GET"]))
    return routes


async def _infer(parser: Parser, request: HttpRequest) -> Response:
    model, version = _model_of(request.http)
    request.service.check_served(model, version)
    json_size = _json_size(request.http)
    trace = trace_of(request.http.headers)
    body = await request.body()
    size = len(body) if json_size is None else min(json_size, len(body))
    http_request = await parser.run(kserve_http.parse, size, model, version, body, json_size, trace)
    response = await request.service.infer(request.call, http_request.call)
    content, headers = kserve_http.render(response, http_request)
    return Response(content, headers=headers)


def _json_size(request: Request) -> int | None:
    size = request.headers.get(kserve_http.JSON_SIZE)
    if size is None:
        return None
    if not (size.isascii() and size.isdigit() and len(size) < 12):
        raise RequestError(f"{kserve_http.JSON_SIZE}: wanted a number, got {size[:40]!r}")
    return int(size)


async def _page(below: str, request: HttpRequest) -> Response:
    content = await request.service.page_of(*_model_of(request.http), below)
    return Response(content, media_type=JSON)


async def _model_state(request: HttpRequest) -> Response:
    return _ready(await request.service.is_model_ready(*_model_of(request.http)))


async def _state(ask: Callable[[], Awaitable[bool]], _request: Request) -> Response:
    return _ready(await ask())


async def _server_metadata(service: DataPlane, _request: Request) -> Response:
    return Response(orjson.dumps(service.server_metadata()), media_type=JSON)


def _ready(is_ready: bool) -> Response:
    return Response(status_code=200 if is_ready else 503)


def _model_of(request: Request) -> tuple[str, str]:
    return request.path_params["model"], request.path_params.get("version", "")
