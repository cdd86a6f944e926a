"""The audit: who has searched for what, and why."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from orchestrator.cameras.store.pass_query import Requester
from orchestrator.cameras.store.schema import searches

PSEUDONYM = "hmac:"
"""Start of a text that is replaced by its pseudonym."""
PERSONAL = ("text", "parts", "cursor")
BATCH = 500


def record(
    connection: sa.Connection,
    requester: Requester,
    kind: str,
    query: Mapping[str, Any],
    *,
    count: int,
    now_s: float,
) -> None:
    """Write a search, in the transaction that answers it: without a record, there is no answer."""
    row = {"time_s": now_s, "who": requester.who, "why": requester.why, "kind": kind}
    connection.execute(sa.insert(searches), [{**row, "query": query, "count": count}])


def pseudonymize(connection: sa.Connection, key: bytes, until_s: float) -> int:
    """Replace the texts of earlier searches by pseudonyms; who, why, when and count stay.

    A pseudonym is the text's HMAC-SHA256 under a key. The same text has the same pseudonym, so that
    repeated searches still show. Nobody without the key can find out the text by trying all plates.

    Returns:
        The number of searches that were changed.
    """
    changed = 0
    earlier = sa.select(searches.c.number, searches.c.query).where(searches.c.time_s < until_s)
    for number, query in connection.execute(earlier).all():
        hidden = {name: _hide(name, value, key) for name, value in query.items()}
        if hidden != query:
            update = sa.update(searches).where(searches.c.number == number)
            connection.execute(update.values(query=hidden))
            changed += 1
    return changed


def _hide(name: str, value: Any, key: bytes) -> Any:
    if name not in PERSONAL:
        return value
    if isinstance(value, list):
        return [_hide(name, one, key) for one in value]
    if value.startswith(PSEUDONYM):
        return value
    return PSEUDONYM + hmac.new(key, value.encode(), hashlib.sha256).hexdigest()[:32]
