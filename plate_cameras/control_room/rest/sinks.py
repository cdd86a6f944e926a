"""Receivers of events, and tests of them: `/v1/sinks`. For administrators."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import ExitStack
from functools import partial

from pydantic import Field
from starlette.responses import Response

from orchestrator.errors import PlateError
from orchestrator.serving.gateway.extension import Model
from plate_cameras.background_tasks import describe
from plate_cameras.configuration import Sink
from plate_cameras.control_room.access.principals import Role
from plate_cameras.control_room.endpoint import RoomRequest
from plate_cameras.control_room.operations import Operation, route
from plate_cameras.control_room.rest.exchange import (
    JSON,
    answer,
    named_in_path,
    page_of,
    query_of,
    requester_of,
)
from plate_cameras.control_room.rest.queries import NamesQuery, Query
from plate_cameras.control_room.rest.streams import OpenStreams, StreamedResponse, client_of
from plate_cameras.sinks.trial import try_sink

TESTS = OpenStreams(max_streams=4, max_of_client=2)
"""Tests wait for receivers, so they hold no slots of the gateway."""


class SinkAnswer(Model):
    """A receiver of events, without its address, which may be a secret."""

    name: str = Field(description="Its name", examples=["guard"])
    type: str = Field(description="How it gets events", examples=["notify"])
    events: tuple[str, ...] = Field(description="The events that it gets", examples=[["agreed"]])


class SinksAnswer(Model):
    """The receivers of events, in the order of their file."""

    sinks: tuple[SinkAnswer, ...] = Field(description="The receivers")
    cursor: str = Field(description='Value of `cursor` for the next page; "" after the last')


class SinkTestAnswer(Model):
    """The outcome of a test."""

    accepted: bool = Field(description="Whether the receiver has accepted the test")
    problem: str = Field(
        description='Why not; "" if it has', examples=["cannot notify: status 401"]
    )


@Operation("sinks", "All receivers of events", "sinks", answer=SinksAnswer, query=NamesQuery)
@route("GET", "/v1/sinks", Role.ADMINISTRATOR)
async def list_all(request: RoomRequest) -> Response:
    """Return a page of the sinks all of whose cameras the principal may see."""
    page, cursor = page_of(_sinks_of(request), query_of(request, NamesQuery))
    answers = (SinkAnswer(name=sink.name, type=sink.type, events=sink.events) for sink in page)
    return answer(SinksAnswer(sinks=tuple(answers), cursor=cursor))


@Operation(
    "testSink",
    "Send a test event to a receiver, from the machine of this service",
    "sinks",
    answer=SinkTestAnswer,
)
@route("POST", "/v1/sinks/{name}/tests", Role.ADMINISTRATOR)
async def test(request: RoomRequest) -> Response:
    """Send a test event past filters and outbox, and return the result."""
    requester, room = requester_of(request, query_of(request, Query)), request.room
    sink = named_in_path(request, _sinks_of(request), "sink")
    with ExitStack() as place:
        place.enter_context(TESTS.open(client_of(request)))
        await room.threads.run(lambda: room.store.record_test(sink.name, requester))
        headers = {"cache-control": "no-store"}
        chunks, is_current = partial(_try, sink), request.is_current
        return StreamedResponse(
            chunks, place.pop_all(), is_current, media_type=JSON, headers=headers
        )


async def _try(sink: Sink) -> AsyncGenerator[bytes, None]:
    """Test a sink, and return the answer. A receiver may take half a minute."""
    problem = ""
    try:
        await try_sink(sink)
    except PlateError as error:
        problem = describe(error)
    yield SinkTestAnswer(accepted=not problem, problem=problem).to_json()


def _sinks_of(request: RoomRequest) -> list[Sink]:
    """Return the sinks all of whose cameras the principal may see."""
    configuration = request.room.configuration
    every = [camera.name for camera in configuration.cameras]
    sees = request.scope.sees
    return [sink for sink in configuration.sinks if all(map(sees, sink.cameras or every))]


ROUTES = (list_all, test)
