"""Logins of people, with limits on attempts that fail, and which tokens may be a session's."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from orchestrator.errors import ParameterError
from orchestrator.serving.gateway.extension import GatewayError, QuotaExceeded, Unauthenticated
from plate_cameras.clocks import steady_s
from plate_cameras.control_room.access.browser_requests import make_token
from plate_cameras.control_room.access.passwords import (
    MAX_PASSWORD_CHARACTERS,
    PasswordChecker,
    check_password,
)
from plate_cameras.control_room.store_threads import StoreThreads
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.people.login_attempts import AttemptLimit
from plate_cameras.store.people.people import NAME, Person, StoredPerson
from plate_cameras.store.people.sessions import digest_of

MAX_ATTEMPTS, INTERVAL_S = 10, 30.0
"""Failed logins of a name from one address, and seconds after which one more is allowed."""
MAX_ATTEMPTS_OF_NAME, NAME_INTERVAL_S = 100, 10.0
"""Failed logins of a name from all addresses, and seconds for one more: at most 8,740 a day. One
address cannot use them up, so a stranger cannot lock a person out."""
MAX_ATTEMPTS_OF_ADDRESS, ADDRESS_INTERVAL_S = 30, 10.0
"""Failed logins from one address with any names, and seconds after which one more is allowed."""


class LoginFailed(Unauthenticated):
    """The name or the password is wrong, or the person is disabled. The message is the same."""

    reason = "login"


class WrongPassword(GatewayError):  # noqa: N818 - named after the cause
    """A person who wants another password has not given the present one."""

    status, code, reason = 403, "PERMISSION_DENIED", "login"


@dataclass(frozen=True)
class Login:
    """A session that has begun."""

    person: Person
    token: str


class Logins:
    """Checks names and passwords, and begins sessions.

    Args:
        store: Holds people, sessions and attempts.
        session_s: Seconds that a session lasts.
    """

    def __init__(
        self,
        store: PassStore,
        threads: StoreThreads,
        passwords: PasswordChecker,
        session_s: float,
    ) -> None:
        self._store, self._threads, self._passwords = store, threads, passwords
        self.session_s = session_s

    async def log_in(self, name: str, password: str, address: str) -> Login:
        """Begin a session.

        Args:
            name: The name as it was typed.
            password: The password.
            address: Name of the client at the caller's address; empty if many callers share it.

        Raises:
            LoginFailed: The name or the password is wrong, or the person is disabled.
            QuotaExceeded: Too many attempts of this name or from this address failed lately.
            ServiceFull: Too many people log in at once.
        """
        name = name.strip().lower()
        limits = limits_of(name, address)
        stored_person = await self._threads.run(lambda: self._begin(name, limits))
        is_usable = stored_person is not None and not stored_person.person.is_disabled
        password_hash = stored_person.password_hash if stored_person and is_usable else None
        password = password[: MAX_PASSWORD_CHARACTERS + 1]
        is_right = await self._passwords.verify(password_hash, password)
        login = None
        if stored_person and is_right:
            login = await self._threads.run(lambda: self._finish(stored_person, limits))
        if login is None:
            raise LoginFailed("name or password: wanted those of a person, got others")
        return login

    async def change_password(self, name: str, old: str, new: str, address: str) -> Login:
        """Give a person another password, end all sessions, and begin a new one.

        Args:
            name: Name of the person.
            old: The present password.
            new: The new password.
            address: Name of the client at the caller's address; empty if many callers share it.

        Raises:
            ParameterError: The new password is too short or too long, or the old one.
            WrongPassword: The present password is another one.
            QuotaExceeded: Too many attempts of this name or from this address failed lately.
            ServiceFull: Too many people log in at once.
        """
        check_password(new, name)
        if new == old:
            raise ParameterError("password: wanted a new one, got the present one")
        limits = limits_of(name, address)
        stored_person = await self._threads.run(lambda: self._begin(name, limits))
        password_hash = stored_person.password_hash if stored_person else None
        login = None
        is_right = await self._passwords.verify(password_hash, old[: MAX_PASSWORD_CHARACTERS + 1])
        if stored_person and is_right:
            new_hash = await self._passwords.hash(new)
            login = await self._threads.run(lambda: self._replace(stored_person, new_hash, limits))
        if login is None:
            raise WrongPassword("old_password: wanted your present password, got another")
        return login

    def _begin(self, name: str, limits: tuple[AttemptLimit, ...]) -> StoredPerson | None:
        if wait_s := self._store.login_attempts.take(limits):
            raise QuotaExceeded(
                "logins: too many have failed for this name or from this address", wait_s
            )
        return self._store.people.find(name) if NAME.fullmatch(name) else None

    def _replace(
        self, person: StoredPerson, new_hash: str, limits: tuple[AttemptLimit, ...]
    ) -> Login | None:
        name = person.person.name
        if not self._store.people.replace_password(name, person.password_hash, new_hash):
            return None
        return self._finish(StoredPerson(person.person, new_hash), limits)

    def _finish(self, person: StoredPerson, limits: tuple[AttemptLimit, ...]) -> Login | None:
        login = Login(person.person, make_token())
        has_begun = self._store.sessions.begin(
            person.person.name, person.password_hash, login.token, self.session_s
        )
        if not has_begun:  # the person was changed during the check
            return None
        self._store.login_attempts.give_back(limits)
        return login


def limits_of(name: str, address: str) -> tuple[AttemptLimit, ...]:
    """Return the limits on logins of a name from an address, of the name, and of the address.

    Args:
        name: The name as it was typed, in lower case.
        address: Name of the client at the caller's address. If it is empty, many callers share the
            address; then it has no limit of its own.
    """
    limits = (
        AttemptLimit(f"name {name} at {address}", MAX_ATTEMPTS, INTERVAL_S),
        AttemptLimit(f"name {name}", MAX_ATTEMPTS_OF_NAME, NAME_INTERVAL_S),
        AttemptLimit(f"address {address}", MAX_ATTEMPTS_OF_ADDRESS, ADDRESS_INTERVAL_S),
    )
    return limits if address else limits[:2]


PAUSE_S = 0.25
"""Shortest time between two looks into the database, however many unknown tokens come."""


class SessionFilter:
    """The digests of all sessions, read again when an unknown token comes.

    All unknown tokens wait for the same look, which begins after they came. So a token of a session
    is never taken for an unknown one, also if another process has begun the session just now.
    """

    def __init__(
        self,
        read_digests: Callable[[], Awaitable[frozenset[bytes]]],
        clock: Callable[[], float] = steady_s,
    ) -> None:
        self._read_digests, self._clock = read_digests, clock
        self._digests: frozenset[bytes] = frozenset()
        self._looked_s = float("-inf")
        self._next: asyncio.Task[None] | None = None
        self._lock = asyncio.Lock()

    async def may_be_known(self, token: str) -> bool:
        """Tell whether a token may belong to a session.

        Raises:
            StoreError: The database cannot be used, and the token was not known before.
        """
        digest = digest_of(token)
        if digest not in self._digests:
            await self._look()
        return digest in self._digests

    def forget(self, token: str) -> None:
        """Note that the session of a token has ended."""
        self._digests -= {digest_of(token)}

    async def _look(self) -> None:
        if self._next is None:
            self._next = asyncio.create_task(self._look_soon())
            self._next.add_done_callback(_retrieve)
        await asyncio.shield(self._next)  # others wait for it, too

    async def _look_soon(self) -> None:
        try:
            async with self._lock:
                await asyncio.sleep(max(0.0, self._looked_s + PAUSE_S - self._clock()))
                self._next = None  # whoever comes from now on waits for another look
                self._looked_s = self._clock()
                self._digests = await self._read_digests()
        finally:
            if self._next is asyncio.current_task():
                self._next = None


def _retrieve(task: asyncio.Task[None]) -> None:
    """Take the error of a look whose callers have all hung up."""
    if not task.cancelled():
        task.exception()
