"""The smallest application that has the API's routes, with a model that answers from a table."""

from collections.abc import Awaitable, Callable

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from orchestrator.errors import PlateError
from orchestrator.serving.gateway.errors import outcome_of
from orchestrator.serving.gateway.http.api_docs.api_page import page
from orchestrator.serving.gateway.http.api_docs.openapi import document
from orchestrator.serving.gateway.http.problem_details import MEDIA_TYPE, headers_of, problem
from orchestrator.serving.gateway.http.rest import Infer, RestRequest, read, recognize, request_id
from orchestrator.serving.gateway.http.schemas import Alive, Model, Ready
from orchestrator.serving.gateway.http.snapshot_api.snapshot import recognize as snapshot
from orchestrator.serving.gateway.http.snapshot_api.snapshot_bodies import JSON, PATH, take_apart
from orchestrator.serving.gateway.http.snapshot_api.snapshot_routes import render_error
from orchestrator.serving.gateway.http.vision_api import vision, vision_routes
from orchestrator.serving.gateway.options import Limits

Answer = Callable[[RestRequest, Infer, Limits], Awaitable[Model]]


def rest_app(infer: Infer) -> Starlette:
    described = document(wants_keys=False, limits=Limits())

    async def look(request: Request) -> Response:
        match request.url.path:
            case "/healthz":
                return _json(Alive(status="alive"))
            case "/readyz":
                return _json(Ready(status="ready", canary_age_s=3.1))
            case "/metrics":
                return PlainTextResponse("")
            case "/docs":
                return HTMLResponse(page(described))
        return JSONResponse(described)

    paths = ("/healthz", "/readyz", "/metrics", "/openapi.json", "/docs")
    return Starlette(
        routes=[
            Route("/v1/recognize", _post(recognize, infer), methods=["POST"]),
            Route("/v1/read", _post(read, infer), methods=["POST"]),
            Route(PATH, _snapshot(infer), methods=["POST"]),
            Route(vision.PATH, _vision(infer), methods=["POST"]),
            *(Route(path, look, methods=["GET"]) for path in paths),
        ]
    )


def _post(answer: Answer, infer: Infer) -> Callable[[Request], Awaitable[Response]]:
    async def post(request: Request) -> Response:
        sent = RestRequest(
            await request.body(),
            request.headers.get("content-type", ""),
            request.query_params.multi_items(),
            request_id(request.headers.get("x-request-id")),
        )
        try:
            return _json(await answer(sent, infer, Limits()))
        except PlateError as error:
            outcome = outcome_of(error)
            headers = headers_of(outcome)
            return JSONResponse(problem(outcome), outcome.status, headers, MEDIA_TYPE)

    return post


def _snapshot(infer: Infer) -> Callable[[Request], Awaitable[Response]]:
    async def post(request: Request) -> Response:
        try:
            call = take_apart(await request.body(), request.headers.get("content-type", ""))
            return Response((await snapshot(call, infer, "", {})).to_json(), 201, media_type=JSON)
        except PlateError as error:
            outcome = outcome_of(error)
            response = render_error(outcome)
            response.headers.update(headers_of(outcome))
            return response

    return post


def _vision(infer: Infer) -> Callable[[Request], Awaitable[Response]]:
    async def post(request: Request) -> Response:
        try:
            call = vision.take_apart(await request.body(), request.headers.get("content-type", ""))
            return Response(
                (await vision.recognize(call, infer, "", {})).to_json(), media_type=JSON
            )
        except PlateError as error:
            outcome = outcome_of(error)
            response = vision_routes.render_error(outcome)
            response.headers.update(headers_of(outcome))
            return response

    return post


def _json(answer: Model) -> Response:
    return Response(answer.to_json(), media_type="application/json")
