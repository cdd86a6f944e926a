"""The people who may log in to the control room."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from orchestrator.errors import ParameterError
from plate_cameras.store.errors import NameTaken, StoreError, UnknownName
from plate_cameras.store.finding.pass_query import Requester
from plate_cameras.store.people import audit
from plate_cameras.store.scope import Scope
from plate_cameras.store.tables.database import Database, insert
from plate_cameras.store.tables.json_values import read_column, to_texts
from plate_cameras.store.tables.schema import people, sessions

ROLES = ("viewer", "editor", "administrator")
ADMINISTRATOR = ROLES[-1]
NAME = re.compile(r"[a-z0-9][a-z0-9._@-]{0,63}")
RESERVED = ("local", "nobody")
"""Names in the audit of callers who have not logged in."""
MAX_PEOPLE = 1000
MAX_GROUPS, MAX_GROUP_LENGTH = 100, 100


class LastAdministrator(StoreError):  # noqa: N818 - named after the cause
    """The change would leave nobody who may administer all cameras."""


@dataclass(frozen=True)
class Person:
    """A person who may log in.

    Attributes:
        name: Unique name: small letters, digits, `.`, `_`, `@` and `-`.
        role: One of `ROLES`.
        groups: Groups of cameras that the person may see; empty for all.
        is_disabled: True if the person may not log in now.
    """

    name: str
    role: str
    groups: tuple[str, ...] = ()
    is_disabled: bool = False

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name) or self.name in RESERVED:
            limits = "1 to 64 small Latin letters, digits, dots, hyphens, underscores and @"
            raise ParameterError(f"name: wanted {limits}, not {RESERVED}, got {self.name[:100]!r}")
        if self.role not in ROLES:
            raise ParameterError(f"role: wanted one of {', '.join(ROLES)}, got {self.role!r}")
        if len(self.groups) > MAX_GROUPS or not all(map(_is_group, self.groups)):
            limits = f"at most {MAX_GROUPS} names of groups"
            raise ParameterError(f"groups: wanted {limits}, got {[*self.groups]}"[:300])

    @property
    def administers_all(self) -> bool:
        """True if the person may log in and administer the cameras of all groups."""
        return self.role == ADMINISTRATOR and not self.groups and not self.is_disabled


@dataclass(frozen=True)
class StoredPerson:
    """A person with the hash of the password."""

    person: Person
    password_hash: str


class People:
    """The people of a store. Each change is recorded in the audit.

    Args:
        clock: Returns the Unix time.
    """

    def __init__(self, database: Database, clock: Callable[[], float]) -> None:
        self._database = database
        self._clock = clock

    def all(self, scope: Scope) -> list[Person]:
        with self._database.reading() as connection:
            rows = connection.execute(sa.select(people).order_by(people.c.name))
            everybody = map(to_person, rows.mappings())
            return [person for person in everybody if scope.includes(person.groups)]

    def find(self, name: str) -> StoredPerson | None:
        """Return a person for a login; None if there is none of this name."""
        with self._database.reading() as connection:
            statement = sa.select(people).where(people.c.name == name)
            row = connection.execute(statement).mappings().first()
        return StoredPerson(to_person(row), row["password_hash"]) if row else None

    def add(self, person: Person, password_hash: str, requester: Requester) -> None:
        """Add a person.

        Raises:
            NameTaken: There is one of this name.
            ParameterError: There are too many.
        """
        row = _to_row(person) | {"password_hash": password_hash, "created_s": self._clock()}
        with self._database.writing() as connection:
            count = connection.scalar(sa.select(sa.func.count()).select_from(people)) or 0
            if count >= MAX_PEOPLE:
                raise ParameterError(f"people: wanted at most {MAX_PEOPLE}, got one more")
            statement = insert(connection, people).values(row)
            statement = statement.on_conflict_do_nothing(index_elements=[people.c.name])
            if connection.execute(statement.returning(people.c.name)).first() is None:
                raise NameTaken(f"there is a person {person.name!r} already")
            self._record(connection, requester, "add person", _to_row(person))

    def change(
        self,
        person: Person,
        requester: Requester,
        *,
        password_hash: str | None = None,
        keeps_administrator: bool = False,
    ) -> None:
        """Give a person another role, other groups, another state, and maybe another password.

        With another password, or when disabled, the person's sessions end.

        Args:
            person: The person with the new values.
            requester: The person who changes it.
            password_hash: Hash of the new password; None leaves the old one.
            keeps_administrator: True if the last administrator must stay one.

        Raises:
            UnknownName: The name does not exist in the requester's scope.
            LastAdministrator: No administrator of all cameras would remain.
        """
        row = _to_row(person)
        row |= {} if password_hash is None else {"password_hash": password_hash}
        with self._database.writing() as connection:
            must_keep = keeps_administrator and not person.administers_all
            _check_change(connection, person.name, requester.scope, keeps_administrator=must_keep)
            update = sa.update(people).where(people.c.name == person.name).values(row)
            connection.execute(update)
            if person.is_disabled or password_hash is not None:
                connection.execute(sa.delete(sessions).where(sessions.c.person == person.name))
            query = _to_row(person) | {"password": password_hash is not None}
            self._record(connection, requester, "change person", query)

    def replace_password(self, name: str, checked_hash: str, password_hash: str) -> bool:
        """Give a person the password that the person has chosen, and end all sessions.

        Args:
            name: The person, who also makes the change.
            checked_hash: The hash against which the old password was checked.
            password_hash: Hash of the new password.

        Returns:
            True if it was changed: somebody else may have changed the person during the check.
        """
        is_same = sa.and_(people.c.name == name, people.c.password_hash == checked_hash)
        is_same = sa.and_(is_same, people.c.is_disabled.is_(False))
        with self._database.writing() as connection:
            update = sa.update(people).where(is_same).values(password_hash=password_hash)
            groups = connection.scalar(update.returning(people.c.groups))
            if groups is None:
                return False
            connection.execute(sa.delete(sessions).where(sessions.c.person == name))
            requester = Requester(name, "-", Scope(tuple(groups)))
            self._record(connection, requester, "change password", {})
        return True

    def remove(self, name: str, requester: Requester, *, keeps_administrator: bool = False) -> None:
        """Remove a person with all sessions.

        Raises:
            UnknownName: The name does not exist in the requester's scope.
            LastAdministrator: No administrator of all cameras would remain.
        """
        with self._database.writing() as connection:
            _check_change(
                connection, name, requester.scope, keeps_administrator=keeps_administrator
            )
            connection.execute(sa.delete(people).where(people.c.name == name))
            self._record(connection, requester, "remove person", {"name": name})

    def _record(
        self, connection: sa.Connection, requester: Requester, kind: str, query: dict[str, Any]
    ) -> None:
        audit.record(connection, requester, kind, query, count=1, now_s=self._clock())


def to_person(row: Any) -> Person:
    """Return the person of a row of the table; a disabled viewer if the row is damaged."""
    person = read_column(f"person {row['name']!r}", "role or groups", row, _read_person)
    return person or Person(row["name"], ROLES[0], is_disabled=True)


def _read_person(row: Any) -> Person:
    return Person(row["name"], row["role"], to_texts(row["groups"]), row["is_disabled"])


def _to_row(person: Person) -> dict[str, Any]:
    return vars(person) | {"groups": [*person.groups]}


def _check_change(
    connection: sa.Connection, name: str, scope: Scope, *, keeps_administrator: bool
) -> None:
    """Check that a scope has a person, and that all cameras keep an administrator.

    The rows stay locked, so that two administrators cannot remove each other at the same time.
    """
    is_concerned = sa.or_(people.c.name == name, people.c.role == ADMINISTRATOR)
    statement = sa.select(people).where(is_concerned).order_by(people.c.name).with_for_update()
    rows = connection.execute(statement).mappings()
    by_name = {row["name"]: to_person(row) for row in rows}
    if name not in by_name or not scope.includes(by_name[name].groups):
        raise UnknownName(f"there is no person {name[:100]!r}")
    administrators = [person.name for person in by_name.values() if person.administers_all]
    if keeps_administrator and administrators == [name]:
        raise LastAdministrator(
            f"{name} is the last administrator of all cameras; make somebody else one first, or "
            "change it on the service's machine with plates people"
        )


def _is_group(name: str) -> bool:
    return 0 < len(name) <= MAX_GROUP_LENGTH and name.isprintable()
