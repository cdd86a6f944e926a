"""Finds the principal of each request. Rejects callers that have none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from starlette.datastructures import Headers

from orchestrator.host.loopback import is_own
from orchestrator.serving.gateway.extension import (
    KEY_PREFIX,
    PERSON_PREFIX,
    Client,
    GatewayError,
    GatewayOptions,
    HttpRequest,
    ServiceFull,
    Unauthenticated,
)
from plate_cameras.configuration import ControlRoomSettings
from plate_cameras.control_room.access.browser_requests import (
    CSRF_HEADER,
    check_own_page,
    csrf_of,
    is_csrf_valid,
    is_direct,
    is_own_page,
    read_token,
)
from plate_cameras.control_room.access.logins import Logins, SessionFilter
from plate_cameras.control_room.access.passwords import PasswordChecker
from plate_cameras.control_room.access.principals import LOCAL, Principal, Role
from plate_cameras.control_room.store_threads import CALLER, QUICK, StoreThreads
from plate_cameras.store.errors import StoreError, StoreUnavailable
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.scope import EVERYTHING

HOUR_S = 3600
TIMEOUT_S = 5.0
"""Timeout of the database query for the person of a session."""
READING = ("GET", "HEAD", "OPTIONS")
"""Methods that change nothing, so that they need no CSRF token."""
HOW_TO_ADD = "plates people add CAMERAS.toml NAME --role administrator"


class Forbidden(GatewayError):  # noqa: N818 - named after the status
    """The principal's role or groups do not allow it."""

    status, code, reason = 403, "PERMISSION_DENIED", "role"


class ForeignRequest(GatewayError):  # noqa: N818 - named after the cause
    """The request has a session's cookie, but not its CSRF token."""

    status, code, reason = 403, "PERMISSION_DENIED", "csrf"


class SessionsUnavailable(GatewayError):  # noqa: N818 - a state of the store
    """The database that holds people and sessions cannot be used now."""

    status, code, reason = 503, "UNAVAILABLE", "away"


@dataclass(frozen=True)
class Entrance:
    """The ways in which callers reach the gateway.

    Attributes:
        wants_keys: Callers need a key or a session.
        is_loopback: It listens to this machine alone.
    """

    wants_keys: bool
    is_loopback: bool
    has_tls: bool
    processes: int = 1

    @classmethod
    def of(cls, options: GatewayOptions) -> Entrance:
        return cls(
            options.wants_keys,
            is_own(options.http.host),
            options.certificate is not None,
            options.processes,
        )


class AccessPolicy:
    """Finds the principal of a request: a key with a role, a person's session, or `local`.

    Args:
        entrance: The ways in which callers reach the gateway.
        store: Holds people and sessions.
    """

    def __init__(self, entrance: Entrance, store: PassStore, settings: ControlRoomSettings) -> None:
        self._entrance = entrance
        self._people, self._sessions = store.people, store.sessions
        # Threads of their own: sessions are found while all other threads search.
        self._threads = StoreThreads(store, (replace(QUICK, timeout_s=TIMEOUT_S),))
        self._filter = SessionFilter(self._read_digests)
        self.passwords = PasswordChecker(entrance.processes)
        self.logins = Logins(store, self._threads, self.passwords, settings.session_hours * HOUR_S)

    def close(self) -> None:
        """End the threads."""
        self._threads.close()
        self.passwords.close()

    async def find_person(
        self, headers: Sequence[tuple[str, str]], address: Client
    ) -> Client | None:
        """Return the client of a session's person, with the quotas of an address."""
        header_map = _to_headers(headers)
        token = self.token_of(header_map)
        if token is None or not is_own_page(header_map):
            return None
        try:
            if not await self._filter.may_be_known(token):
                return None
            CALLER.set(f"session {csrf_of(token)}")  # a stranger at this address has another turn
            person = await self._threads.run(lambda: self._sessions.find(token))
        except StoreError as error:
            raise SessionsUnavailable(f"sessions cannot be checked: {error}", 1.0) from error
        if person is None:
            self._filter.forget(token)
            return None
        name = PERSON_PREFIX + person.name
        return replace(address, name=name, role=person.role, groups=person.groups)

    async def find_sender(
        self, headers: Sequence[tuple[str, str]], address: Client
    ) -> Client | None:
        """Return the client of a person who sends a picture from a page of ours.

        The CSRF token is not needed where everybody may send pictures: without it, or while the
        database is away, the sender is an address like others.

        Raises:
            ForeignRequest: The picture comes without the CSRF token, to a service that wants keys.
        """
        try:
            person = await self.find_person(headers, address)
        except (SessionsUnavailable, ServiceFull):
            if self._entrance.wants_keys:
                raise
            return None
        if person is None or self._has_csrf(_to_headers(headers)):
            return person
        if self._entrance.wants_keys:
            raise _no_csrf()
        return None

    async def find_client(self, headers: Sequence[tuple[str, str]], address: Client) -> Client:
        """Return the person's client, or the address; `principal_of` decides what it may do."""
        return await self.find_person(headers, address) or address

    async def principal_of(self, request: HttpRequest) -> Principal:
        """Return the principal of an admitted request.

        Raises:
            Unauthenticated: Nobody is known.
            Forbidden: The key has no role, or nobody can log in yet.
            ForeignOrigin: A page of another site asks.
            ForeignRequest: A person's change comes without the CSRF token.
        """
        client, headers = request.call.client, request.http.headers
        if client.name.startswith(KEY_PREFIX):
            return _principal_of_key(client)
        check_own_page(headers)
        if client.name.startswith(PERSON_PREFIX):
            if request.http.method not in READING and not self._has_csrf(headers):
                raise _no_csrf()
            name = client.name.removeprefix(PERSON_PREFIX)
            return Principal(name, Role[client.role.upper()], client.groups)
        entrance = self._entrance
        if entrance.is_loopback and not entrance.wants_keys and is_direct(request.http):
            return LOCAL
        raise await self._refusal()

    async def is_current(self, request: HttpRequest) -> bool:
        """Tell whether a request that is still answered would get the same principal now.

        Long answers check this from time to time, because sessions end and keys are removed.
        """
        client, headers = request.call.client, request.http.headers
        if client.name.startswith(PERSON_PREFIX):
            return await self.find_person(headers.items(), client) == client
        if client.name.startswith(KEY_PREFIX):
            return request.service.knows(headers.items(), client)
        return True

    def token_of(self, headers: Headers) -> str | None:
        """Return the token of the session that a request belongs to; None if there is none."""
        return read_token(headers.get("cookie", ""), has_tls=self._entrance.has_tls)

    def _has_csrf(self, headers: Headers) -> bool:
        token = self.token_of(headers)
        assert token is not None  # it has led to the person
        return is_csrf_valid(token, headers.get(CSRF_HEADER, ""))

    async def _read_digests(self) -> frozenset[bytes]:
        CALLER.set("")
        return await self._threads.run(self._sessions.digests)

    async def _refusal(self) -> GatewayError:
        try:
            wants_login = self._entrance.wants_keys or bool(
                await self._threads.run(lambda: self._people.all(EVERYTHING))
            )
        except StoreUnavailable:
            wants_login = True
        if wants_login:
            return Unauthenticated("wanted a person who has logged in, or a key with a role")
        return Forbidden(
            "nobody can log in yet. On the machine of the service, add the first person: "
            f"{HOW_TO_ADD}"
        )


def _no_csrf() -> ForeignRequest:
    return ForeignRequest(
        "X-CSRF-Token: wanted the value `csrf` of GET /v1/session, got none or another"
    )


def _principal_of_key(client: Client) -> Principal:
    if not client.role:
        raise Forbidden(
            f"the key {client.name.removeprefix(KEY_PREFIX)} has no role; the operator gives it "
            'one in the file of keys: role = "viewer"'
        )
    return Principal(client.name, Role[client.role.upper()], client.groups)


def _to_headers(headers: Sequence[tuple[str, str]]) -> Headers:
    return Headers(
        raw=[(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
    )
