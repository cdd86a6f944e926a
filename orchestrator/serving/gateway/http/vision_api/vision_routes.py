"""The route of `/v1/vision/alpr`, and its form of errors."""

from __future__ import annotations

from functools import partial

import orjson
from starlette.responses import Response
from starlette.routing import Route

from orchestrator.serving.gateway.data_plane import DataPlane
from orchestrator.serving.gateway.errors import Outcome
from orchestrator.serving.gateway.http import rest
from orchestrator.serving.gateway.http.endpoint import REQUEST_ID, Endpoint, HttpApi, HttpRequest
from orchestrator.serving.gateway.http.vision_api import vision
from orchestrator.serving.gateway.ops.tracing import trace_of

JSON = "application/json"


def render_error(outcome: Outcome) -> Response:
    """Return an error in CodeProject.AI's form."""
    error = {"success": False, "error": outcome.message, "code": int(outcome.status)}
    return Response(orjson.dumps(error), outcome.status, media_type=JSON)


VISION = HttpApi("rest", render_error)


def routes(service: DataPlane) -> list[Route]:
    """Return the route of CodeProject.AI's call."""
    return [Route(vision.PATH, Endpoint(service, VISION, "alpr", _answer), methods=["POST"])]


async def _answer(request: HttpRequest) -> Response:
    headers = request.http.headers
    request.call.id = request.http.state.request_id = rest.request_id(headers.get(REQUEST_ID))
    call = vision.take_apart(await request.body(), headers.get("content-type", ""))
    id, infer = request.call.id, partial(request.service.infer, request.call)
    answer = await vision.recognize(call, infer, id, trace_of(headers))
    return Response(answer.to_json(), media_type=JSON, headers={REQUEST_ID: id})
