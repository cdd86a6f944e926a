"""One request to the control room: its caller is admitted, and the role is checked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from urllib.parse import unquote, urlencode

from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import Scope as HttpScope

from orchestrator.errors import ParameterError
from orchestrator.serving.gateway.extension import (
    KEY_PREFIX,
    REST,
    RETRY_AFTER_S,
    DataPlane,
    Endpoint,
    GatewayError,
    HttpRequest,
    NotFound,
    Unauthenticated,
)
from plate_cameras.clocks import steady_s
from plate_cameras.configuration import Camera, Configuration
from plate_cameras.control_room.access.policy import AccessPolicy, Forbidden
from plate_cameras.control_room.access.principals import NOBODY, Principal, Role
from plate_cameras.control_room.operations import RoomRoute
from plate_cameras.control_room.store_threads import CALLER, StoreThreads
from plate_cameras.store.errors import (
    ChangedMeanwhile,
    NameTaken,
    RejectedValue,
    SharedList,
    StoreUnavailable,
    UnknownName,
)
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.people.people import LastAdministrator
from plate_cameras.store.scope import Scope
from plate_cameras.store.writing.live_tables import StateAges

KIND = "control room"
"""Kind of these requests in metrics and in the audit log."""
CURSOR = "cursor"
"""Name of a page's place, in queries and in answers."""
CHECK_S = 5.0
"""How often a stream checks its caller's rights: sessions end, and groups change. An answer that
took longer is checked, too."""


class Conflict(GatewayError):  # noqa: N818 - named after the status
    """The people or lists are in another state than the change needs."""

    status, code, reason = 409, "FAILED_PRECONDITION", "conflict"


class DatabaseAway(GatewayError):  # noqa: N818 - named after the state
    """The database of the passes cannot be used now. Recognition goes on."""

    status, code, reason = 503, "UNAVAILABLE", "database"


@dataclass
class ControlRoom:
    """The parts that the routes need.

    Attributes:
        configuration: The cameras. It is replaced when their file changes.
        store: Their passes. Its calls block; `threads` runs them.
    """

    configuration: Configuration
    store: PassStore
    access: AccessPolicy
    threads: StoreThreads = field(init=False)
    ages: StateAges = field(default_factory=StateAges)

    def __post_init__(self) -> None:
        self.threads = StoreThreads(self.store)


class PagedResponse(Response):
    """An answer that may have a further page.

    Attributes:
        cursor: Its cursor; empty after the last page.
    """

    cursor: str = ""


@dataclass(frozen=True)
class RoomRequest:
    """A request of a known principal.

    Attributes:
        principal: The person or program that asks.
    """

    request: HttpRequest
    principal: Principal
    room: ControlRoom

    @cached_property
    def scope(self) -> Scope:
        """The cameras that the principal may see, with what belongs to them."""
        return self._scope_now()

    @property
    def cameras(self) -> list[Camera]:
        """The configured cameras that the principal may see."""
        return [
            camera for camera in self.room.configuration.cameras if self.scope.sees(camera.name)
        ]

    async def body(self) -> bytes:
        """Return the body. It may come slowly, so the principal's rights are checked again.

        Raises:
            Unauthenticated: The rights have changed meanwhile.
        """
        content = await self.request.body()
        if not await self.is_current():
            raise _changed_rights()
        return content

    async def is_current(self) -> bool:
        """Tell whether the principal still has the same rights to the same cameras and lists."""
        if self.scope != self._scope_now():
            return False
        try:
            return await self.room.access.is_current(self.request)
        except GatewayError:  # nobody can tell
            return False

    def _scope_now(self) -> Scope:
        return Scope.of(self.principal.groups, self.room.configuration)


def to_routes(routes: Iterable[RoomRoute], room: ControlRoom, service: DataPlane) -> list[Route]:
    """Return a route for each path, which admits its callers through the gateway's policy."""
    by_path: dict[str, dict[str, RoomRoute]] = {}
    for route in routes:
        by_path.setdefault(route.path, {})[route.method] = route
    return [_to_route(path, methods, room, service) for path, methods in by_path.items()]


def _to_route(
    path: str, methods: Mapping[str, RoomRoute], room: ControlRoom, service: DataPlane
) -> Route:
    challenges = {route.challenge for route in methods.values() if route.challenge}
    endpoint = Endpoint(
        service,
        REST,
        KIND,
        partial(_answer, methods, room),
        room.access.find_client,
        error_headers={"WWW-Authenticate": ", ".join(challenges)} if challenges else {},
    )
    return EncodedRoute(path, endpoint, methods=[*methods])


async def _answer(
    methods: Mapping[str, RoomRoute], room: ControlRoom, request: HttpRequest
) -> Response:
    method = request.http.method
    route = methods["GET" if method == "HEAD" else method]
    name = request.call.client.name
    CALLER.set(name)
    by_key = name.startswith(KEY_PREFIX)
    request.call.is_audited = by_key or not route.is_background
    with store_errors():
        is_open = route.role is Role.NOBODY
        principal = NOBODY if is_open else await room.access.principal_of(request)
        if principal.role < route.role:
            needed, own = route.role.name.lower(), principal.role.name.lower()
            raise Forbidden(f"role: wanted {needed}, got {own}")
        return await _handle(route, RoomRequest(request, principal, room))


async def _handle(route: RoomRoute, request: RoomRequest) -> Response:
    begun_s = steady_s()
    response = await route.handle(request)
    is_late = route.method == "GET" and steady_s() - begun_s >= CHECK_S
    if is_late and not await request.is_current():
        raise _changed_rights()
    if isinstance(response, PagedResponse) and response.cursor:
        response.headers["link"] = f'<{_next_page(request, response.cursor)}>; rel="next"'
    return response


def _next_page(request: RoomRequest, cursor: str) -> str:
    """Return the next page's URL, relative to that of the request: a proxy may have changed it."""
    query = request.request.http.query_params.multi_items()
    pairs = [(name, value) for name, value in query if name != CURSOR]
    return f"?{urlencode([*pairs, (CURSOR, cursor)])}"


def _changed_rights() -> Unauthenticated:
    return Unauthenticated("the caller's rights have changed meanwhile; send it again")


@contextmanager
def store_errors() -> Iterator[None]:
    """Raise errors of the store as those of the gateway.

    Raises:
        NotFound: There is no pass, list, camera or person of this name in the scope.
        Forbidden: Cameras of other groups use a list, too.
        Conflict: A name is taken, others change the same list, or no administrator would be left.
        ParameterError: The database does not accept a value.
    """
    try:
        yield
    except UnknownName as error:
        raise NotFound(str(error)) from error
    except SharedList as error:
        raise Forbidden(str(error)) from error
    except (NameTaken, LastAdministrator, ChangedMeanwhile) as error:
        raise Conflict(str(error)) from error
    except StoreUnavailable as error:
        raise DatabaseAway(str(error), RETRY_AFTER_S) from error
    except RejectedValue as error:
        raise ParameterError(str(error)) from error


class EncodedRoute(Route):
    """A route that is found by the path as it was sent, before its decoding.

    So `/v1/cameras/yard%2F1` is the camera `yard/1`. Paths whose fixed parts are encoded, which no
    usual client sends, are found after the decoding.

    Source: RFC 3986, section 2.2: encoding a reserved character changes a path.
    """

    def matches(self, scope: HttpScope) -> tuple[Match, HttpScope]:
        """Return whether a request is for this route, with the decoded parts of its path."""
        raw_path = scope.get("raw_path")
        if raw_path is not None:
            match, child = super().matches({**scope, "path": raw_path.decode("latin-1")})
            if match is not Match.NONE:
                texts = child["path_params"]
                values = {name: unquote(texts[name]) for name in self.param_convertors}
                return match, {**child, "path_params": texts | values}
        return super().matches(scope)
