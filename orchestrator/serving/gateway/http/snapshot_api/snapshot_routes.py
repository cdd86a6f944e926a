"""Routes of `/v1/plate-reader/`, and its form of errors."""

from __future__ import annotations

from functools import partial
from http import HTTPStatus

import orjson
from starlette.responses import Response
from starlette.routing import Route

from orchestrator.serving.gateway.data_plane import DataPlane
from orchestrator.serving.gateway.errors import Outcome
from orchestrator.serving.gateway.http import rest
from orchestrator.serving.gateway.http.endpoint import REQUEST_ID, Endpoint, HttpApi, HttpRequest
from orchestrator.serving.gateway.http.json_process import Parser
from orchestrator.serving.gateway.http.snapshot_api import snapshot
from orchestrator.serving.gateway.http.snapshot_api.snapshot_bodies import (
    JSON,
    PATH,
    json_size,
    take_apart,
)
from orchestrator.serving.gateway.ops.tracing import trace_of

PATHS = (PATH, PATH.rstrip("/"))


def render_error(outcome: Outcome) -> Response:
    """Return an error in Plate Recognizer's form. A call without a valid key gets 403 there."""
    status = HTTPStatus.FORBIDDEN if outcome.status == HTTPStatus.UNAUTHORIZED else outcome.status
    error = {"detail": outcome.message, "status_code": int(status)}
    return Response(orjson.dumps(error), status, media_type=JSON)


SNAPSHOT = HttpApi("rest", render_error)


def routes(service: DataPlane) -> list[Route]:
    """Return the routes of the snapshot API, with and without the last slash.

    Plate Recognizer's clients cannot do without a key, so a service without keys ignores it.
    """
    answer = Endpoint(
        service,
        SNAPSHOT,
        "plate-reader",
        partial(_answer, Parser()),
        ignores_keys=not service.options.has_keys,
    )
    return [Route(path, answer, methods=["POST"]) for path in PATHS]


async def _answer(parser: Parser, request: HttpRequest) -> Response:
    headers = request.http.headers
    request.call.id = request.http.state.request_id = rest.request_id(headers.get(REQUEST_ID))
    content_type, trace = headers.get("content-type", ""), trace_of(headers)
    body = await request.body()
    size = json_size(body, content_type)
    call = await parser.run(take_apart, size, body, content_type)
    id, infer = request.call.id, partial(request.service.infer, request.call)
    answer = await snapshot.recognize(call, infer, id, trace)
    return Response(answer.to_json(), HTTPStatus.CREATED, media_type=JSON, headers={REQUEST_ID: id})
