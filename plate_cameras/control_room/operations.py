"""Operations of the REST API: their routes, and their descriptions for its documentation."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import BaseModel
from starlette.responses import Response

from plate_cameras.control_room.access.principals import Role

CSV = {"text/csv": "A file with one line for each"}
JPEG = {"image/jpeg": "The picture"}
Handle = Callable[[Any], Awaitable[Response]]
"""Takes a `RoomRequest`."""


@dataclass(frozen=True)
class RoomRoute:
    """A route of the control room.

    Attributes:
        path: Path in Starlette's form.
        role: Least role of the principal; NOBODY admits everybody.
        operation: Its description for the API's documentation; None if it is not shown there.
        is_background: Pages ask for it again and again. A person's request leaves no line in the
            gateway's audit, unless it is rejected. A key's request does.
        challenge: The header WWW-Authenticate of its errors; empty for the gateway's own.
    """

    method: str
    path: str
    role: Role
    handle: Handle
    operation: Operation | None = None
    is_background: bool = False
    challenge: str = ""


def route(
    method: str, path: str, role: Role, *, is_background: bool = False, challenge: str = ""
) -> Callable[[Handle], RoomRoute]:
    """Return a decorator that makes a route of a handler; see `RoomRoute`."""
    return lambda handle: RoomRoute(
        method, path, role, handle, is_background=is_background, challenge=challenge
    )


@dataclass(frozen=True)
class Operation:
    """The description of an operation, and the decorator that gives it to a route.

    Attributes:
        summary: The operation in a few words.
        answer: Schema of the JSON answer; None for other answers.
        query: Schema of the query; None if it takes none.
        body: Schema of the JSON body; None if it takes none.
        text_body: Content type of a body that is not JSON.
        max_text_bytes: Largest size of such a body.
        text_about: What such a body is.
        media: Other content types of the answer, with what they hold.
        creates: True if the status may also be 201.
        problems: Statuses of failures beside those that every operation has.
        takes_reason: True if it takes a query, which may always have a reason.
        is_public: True if it needs no key.
    """

    id: str
    summary: str
    tag: str
    answer: type[BaseModel] | None = None
    query: type[BaseModel] | None = None
    body: type[BaseModel] | None = None
    text_body: str = ""
    max_text_bytes: int = 0
    text_about: str = "A file with a line of columns"
    media: Mapping[str, str] = field(default_factory=dict)
    status: int = 200
    creates: bool = False
    problems: tuple[str, ...] = ()
    takes_reason: bool = True
    is_public: bool = False

    def __call__(self, room_route: RoomRoute) -> RoomRoute:
        """Return a route with this description."""
        return replace(room_route, operation=self)
