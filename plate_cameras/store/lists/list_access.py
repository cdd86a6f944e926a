"""Tells which lists a requester may change."""

from __future__ import annotations

import sqlalchemy as sa

from plate_cameras.store.errors import SharedList
from plate_cameras.store.finding.pass_query import Requester
from plate_cameras.store.finding.search import find_list
from plate_cameras.store.scope import EVERYTHING, Scope


def find_to_change(connection: sa.Connection, name: str, requester: Requester | None) -> int:
    """Return the number of a list that a requester may change.

    Raises:
        SharedList: Cameras of other groups use it, too.
        UnknownName: The name does not exist in the requester's scope.
    """
    scope = scope_of(requester)
    if scope.uses(name) and name in scope.foreign_lists:
        raise SharedList(f"list {name}: cameras of other groups use it, too")
    return find_list(connection, name, scope)


def scope_of(requester: Requester | None) -> Scope:
    """Return the scope of a requester."""
    return requester.scope if requester else EVERYTHING
