"""KServe v2 over HTTP as routes: what tritonclient asks of the two models, and nothing else.

Source: KServe "Open Inference Protocol v2", and Triton's extensions for binary tensors and model
configuration.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from orchestrator.errors import RequestError
from orchestrator.gateway import kserve_http
from orchestrator.gateway.checks import check_served
from orchestrator.gateway.exchange import Exchange
from orchestrator.gateway.parsing import Parser
from orchestrator.gateway.refusals import Outcome
from orchestrator.gateway.service import Service, Visit
from orchestrator.gateway.tracing import trace_of

JSON = "application/json"
FRONT = "kserve-http"

Endpoint = Callable[[Request], Awaitable[Response]]


def routes(service: Service) -> list[Route]:
    """Return the routes of KServe v2."""
    parser = Parser()
    return [
        Route("/v2", _about(service)),
        Route("/v2/health/live", _state(service.is_live)),
        Route("/v2/health/ready", _state(service.is_ready)),
        *_of_models(service, parser, "/v2/models/{model}"),
        *_of_models(service, parser, "/v2/models/{model}/versions/{version}"),
    ]


def _of_models(service: Service, parser: Parser, path: str) -> list[Route]:
    return [
        Route(path, _page(service, "metadata", "")),
        Route(f"{path}/config", _page(service, "config", "/config")),
        Route(f"{path}/ready", _model_state(service)),
        Route(f"{path}/infer", _infer(service, parser), methods=["POST"]),
    ]


def _infer(service: Service, parser: Parser) -> Endpoint:
    async def infer(request: Request) -> Response:
        exchange = Exchange(request, service, FRONT, "infer", tell)

        async def answer(visit: Visit) -> Response:
            model, version = _model_of(request)
            check_served(model, version)
            json_size = _json_size(request)
            body = await exchange.body(visit)
            trace = trace_of(request.headers)
            size = len(body) if json_size is None else json_size
            asked = await parser.run(
                kserve_http.parse, size, model, version, body, json_size, trace
            )
            content, headers = kserve_http.render(await visit.infer(asked.call), asked)
            return Response(content, headers=headers)

        return await exchange.answer(answer)

    return infer


def _json_size(request: Request) -> int | None:
    size = request.headers.get(kserve_http.JSON_SIZE)
    if size is None:
        return None
    if not (size.isascii() and size.isdigit() and len(size) < 12):
        raise RequestError(f"{kserve_http.JSON_SIZE}: wanted a number, got {size[:40]!r}")
    return int(size)


def _page(service: Service, what: str, page: str) -> Endpoint:
    async def show(request: Request) -> Response:
        async def answer(_visit: Visit) -> Response:
            content = await service.page_of(*_model_of(request), page)
            return Response(content, media_type=JSON)

        return await Exchange(request, service, FRONT, what, tell).answer(answer)

    return show


def _model_state(service: Service) -> Endpoint:
    async def show(request: Request) -> Response:
        async def answer(_visit: Visit) -> Response:
            return _ready(await service.is_model_ready(*_model_of(request)))

        return await Exchange(request, service, FRONT, "ready", tell).answer(answer)

    return show


def _state(question: Callable[[], Awaitable[bool]]) -> Endpoint:
    async def show(_request: Request) -> Response:
        return _ready(await question())

    return show


def _ready(is_ready: bool) -> Response:
    return Response(status_code=200 if is_ready else 503)


def _about(service: Service) -> Endpoint:
    async def show(_request: Request) -> Response:
        return Response(orjson.dumps(service.server_metadata()), media_type=JSON)

    return show


def tell(outcome: Outcome) -> Response:
    """Return an error as Triton tells it."""
    content = kserve_http.error_body(outcome.message)
    return Response(content, outcome.status, media_type=JSON)


def _model_of(request: Request) -> tuple[str, str]:
    return request.path_params["model"], request.path_params.get("version", "")
