"""Routes of the REST API, and of its documentation."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from functools import cache, partial
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from orchestrator.serving.gateway.data_plane import DataPlane, Identify
from orchestrator.serving.gateway.errors import Outcome
from orchestrator.serving.gateway.http import rest
from orchestrator.serving.gateway.http.api_docs.openapi import HOST, document
from orchestrator.serving.gateway.http.api_docs.openapi_schemas import ApiPart
from orchestrator.serving.gateway.http.api_docs.page_languages import render_pages
from orchestrator.serving.gateway.http.endpoint import REQUEST_ID, Endpoint, HttpApi, HttpRequest
from orchestrator.serving.gateway.http.page.routes import answer_page
from orchestrator.serving.gateway.http.problem_details import DESCRIBED, MEDIA_TYPE, problem
from orchestrator.serving.gateway.http.schemas import Model
from orchestrator.serving.gateway.ops.tracing import trace_of
from orchestrator.serving.gateway.options import Limits

JSON = "application/json"
PLAIN_HOST = re.compile(r"[\w.-]+(:\d+)?|\[[\da-fA-F:.]+\](:\d+)?", re.ASCII)
"""Hosts that can stand in an example without quotes."""

Handle = Callable[[rest.RestRequest, rest.Infer, Limits, Sequence[str]], Awaitable[Model]]


def render_error(outcome: Outcome) -> Response:
    """Return an error in the form of RFC 9457."""
    return Response(orjson.dumps(problem(outcome)), outcome.status, media_type=MEDIA_TYPE)


REST = HttpApi("rest", render_error)


def infer_routes(service: DataPlane, identify: Identify | None = None) -> list[Route]:
    """Return the routes of pictures.

    Args:
        service: The service.
        identify: Identifies the caller of a request without a key; returns None if unknown.
    """
    handlers = {"recognize": rest.recognize, "read": rest.read}
    return [
        Route(
            f"/v1/{kind}",
            Endpoint(service, REST, kind, partial(_answer, handle), identify),
            methods=["POST"],
        )
        for kind, handle in handlers.items()
    ]


def document_routes(service: DataPlane, describe_more: Callable[[], ApiPart]) -> list[Route]:
    """Return the routes of the documentation, which the first request for it makes.

    Args:
        service: The service.
        describe_more: Returns the part of an extension.
    """

    @cache
    def describe() -> dict[str, Any]:
        return document(service.options.wants_keys, service.limits, describe_more())

    @cache
    def render(part: str) -> dict[str, str]:
        return render_pages(describe(), service.options, part, describe_more().texts)

    async def openapi(request: Request) -> Response:
        api = orjson.dumps(await asyncio.to_thread(describe)).decode()
        return Response(api.replace(HOST, _address_of(request)), media_type=JSON, headers=DESCRIBED)

    async def docs(request: Request) -> Response:
        api = await asyncio.to_thread(describe)
        part = request.query_params.get("part", "")
        part_name = part if part in {tag["name"] for tag in api["tags"]} else ""
        html_by_language = await asyncio.to_thread(render, part_name)
        address = _address_of(request)
        html = {
            language: text.replace(HOST, address) for language, text in html_by_language.items()
        }
        response = answer_page(request, html)
        response.headers.update(DESCRIBED)
        return response

    return [Route("/openapi.json", openapi), Route("/docs", docs)]


def _address_of(request: Request) -> str:
    """Return the address at which a caller has reached the service, for examples."""
    netloc = request.url.netloc
    return f"{request.url.scheme}://{netloc}" if PLAIN_HOST.fullmatch(netloc) else HOST


async def _answer(handle: Handle, request: HttpRequest) -> Response:
    headers = request.http.headers
    request.call.id = request.http.state.request_id = rest.request_id(headers.get(REQUEST_ID))
    rest_request = rest.RestRequest(
        body=await request.body(),
        content_type=headers.get("content-type", ""),
        query=request.http.query_params.multi_items(),
        id=request.call.id,
        trace=trace_of(headers),
    )
    service = request.service
    infer = partial(service.infer, request.call)
    answer = await handle(rest_request, infer, service.limits, service.options.outputs)
    return Response(answer.to_json(), media_type=JSON, headers={REQUEST_ID: rest_request.id})
