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
from orchestrator.gateway.data_plane import DataPlane
from orchestrator.gateway.errors import Outcome
from orchestrator.gateway.http.endpoint import Endpoint, HttpApi, HttpRequest
from orchestrator.gateway.http.json_process import Parser
from orchestrator.gateway.ops.tracing import trace_of
from orchestrator.protocol import kserve_http

JSON = "application/json"
MODELS = ("/v2/models/{model}", "/v2/models/{model}/versions/{version}")
PAGES = {"metadata": "", "config": "/config"}
"""Pages of Triton about a model, and their paths."""


def tell(outcome: Outcome) -> Response:
    """Return an error in Triton's form."""
    content = kserve_http.error_body(outcome.message)
    return Response(content, outcome.status, media_type=JSON)


KSERVE = HttpApi("kserve-http", tell)


def calls(service: DataPlane) -> list[Route]:
    """Return the routes of infer calls."""
    infer = Endpoint(service, KSERVE, "infer", partial(_infer, Parser()), "POST")
    return [Route(f"{path}/infer", infer) for path in MODELS]


def questions(service: DataPlane) -> list[Route]:
    """Return the routes for information about the service and its models."""
    routes = [
        Route("/v2", partial(_about, service)),
        Route("/v2/health/live", partial(_state, service.is_live)),
        Route("/v2/health/ready", partial(_state, service.is_ready)),
    ]
    for path in MODELS:
        for what, below in PAGES.items():
            shown = Endpoint(service, KSERVE, what, partial(_page, below))
            routes.append(Route(f"{path}{below}", shown))
        routes.append(Route(f"{path}/ready", Endpoint(service, KSERVE, "ready", _model_state)))
    return routes


async def _infer(parser: Parser, exchange: HttpRequest) -> Response:
    model, version = _model_of(exchange.request)
    exchange.service.check_served(model, version)
    json_size = _json_size(exchange.request)
    trace = trace_of(exchange.request.headers)
    body = await exchange.body()
    size = len(body) if json_size is None else min(json_size, len(body))
    asked = await parser.run(kserve_http.parse, size, model, version, body, json_size, trace)
    answer = await exchange.visit.infer(asked.call)
    content, headers = kserve_http.render(answer, asked)
    return Response(content, headers=headers)


def _json_size(request: Request) -> int | None:
    size = request.headers.get(kserve_http.JSON_SIZE)
    if size is None:
        return None
    if not (size.isascii() and size.isdigit() and len(size) < 12):
        raise RequestError(f"{kserve_http.JSON_SIZE}: wanted a number, got {size[:40]!r}")
    return int(size)


async def _page(below: str, exchange: HttpRequest) -> Response:
    content = await exchange.service.page_of(*_model_of(exchange.request), below)
    return Response(content, media_type=JSON)


async def _model_state(exchange: HttpRequest) -> Response:
    return _ready(await exchange.service.is_model_ready(*_model_of(exchange.request)))


async def _state(question: Callable[[], Awaitable[bool]], _request: Request) -> Response:
    return _ready(await question())


async def _about(service: DataPlane, _request: Request) -> Response:
    return Response(orjson.dumps(service.server_metadata()), media_type=JSON)


def _ready(is_ready: bool) -> Response:
    return Response(status_code=200 if is_ready else 503)


def _model_of(request: Request) -> tuple[str, str]:
    return request.path_params["model"], request.path_params.get("version", "")
