"""One request to the control room: its caller is admitted, and the role is checked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from starlette.responses import Response
from starlette.routing import Route

from orchestrator.cameras.configuration import Configuration
from orchestrator.cameras.store.pass_store import PassStore
from orchestrator.control_room.access.policy import AccessPolicy, Forbidden
from orchestrator.control_room.access.principals import Principal, Role
from orchestrator.gateway.data_plane import DataPlane
from orchestrator.gateway.http.endpoint import Endpoint, HttpRequest
from orchestrator.gateway.http.rest_routes import REST

KIND = "control room"
"""Kind of these requests in metrics and in the audit log."""


@dataclass(frozen=True)
class ControlRoom:
    """What the routes stand on.

    Attributes:
        configuration: The cameras.
        store: Their passes. Its calls block; run them in a thread.
        access: Finds out who asks.
    """

    configuration: Configuration
    store: PassStore
    access: AccessPolicy


@dataclass(frozen=True)
class RoomRequest:
    """A request of a known principal.

    Attributes:
        request: The admitted HTTP request.
        principal: Who asks.
        room: The control room.
    """

    request: HttpRequest
    principal: Principal
    room: ControlRoom


Handle = Callable[[RoomRequest], Awaitable[Response]]


@dataclass(frozen=True)
class RoomRoute:
    """A route of the control room.

    Attributes:
        method: HTTP method.
        path: Path in Starlette's form.
        role: Least role of the principal.
        handle: Makes the response.
    """

    method: str
    path: str
    role: Role
    handle: Handle


def to_route(route: RoomRoute, room: ControlRoom, service: DataPlane) -> Route:
    """Return a route that admits its callers through the gateway's policy."""
    endpoint = Endpoint(service, REST, KIND, partial(_answer, route, room))
    return Route(route.path, endpoint, methods=[route.method])


async def _answer(route: RoomRoute, room: ControlRoom, request: HttpRequest) -> Response:
    principal = await room.access.principal_of(request)
    if principal.role < route.role:
        wanted, got = route.role.name.lower(), principal.role.name.lower()
        raise Forbidden(f"role: wanted {wanted}, got {got}")
    return await route.handle(RoomRequest(request, principal, room))
