"""Receivers of events, and tests of them: `/v1/sinks`. For administrators."""

from __future__ import annotations

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
    answer,
    named_in_path,
    page_of,
    query_of,
    requester_of,
)
from plate_cameras.control_room.rest.queries import NamesQuery, Query
from plate_cameras.sinks.trial import try_sink


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
    await room.threads.run(lambda: room.store.record_test(sink.name, requester))
    try:
        await try_sink(sink)
    except PlateError as error:
        return answer(SinkTestAnswer(accepted=False, problem=describe(error)))
    return answer(SinkTestAnswer(accepted=True, problem=""))


def _sinks_of(request: RoomRequest) -> list[Sink]:
    """Return the sinks all of whose cameras the principal may see."""
    configuration = request.room.configuration
    every = [camera.name for camera in configuration.cameras]
    sees = request.scope.sees
    return [sink for sink in configuration.sinks if all(map(sees, sink.cameras or every))]


ROUTES = (list_all, test)
