"""Finds texts by one or two characters, which are too few for a trigram index as it is."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

from orchestrator.cameras.store.schema import pass_text_grams, pass_texts
from orchestrator.cameras.store.text_patterns import END, HIGHEST


def find_in_sqlite(run: str) -> sa.Select[Any] | sa.CompoundSelect[Any]:
    """Return the statement that finds texts with one or two characters by their trigrams.

    A trigram begins with them, or ends with one that is the last of its text.
    """
    term = pass_text_grams.c.term
    begins = sa.and_(term >= run, term < run + HIGHEST)
    found = sa.select(pass_text_grams.c.doc)
    if len(run) > 1:
        return found.where(begins).distinct()
    firsts = _first_characters()
    last = found.join(firsts, term == firsts.c.char + run + END)
    return sa.union(found.where(begins), last)


def _first_characters() -> sa.CTE:
    """Return the first characters of all trigrams; each is one step in the index."""
    term = pass_text_grams.c.term
    first = sa.select(sa.func.substr(term, 1, 1)).order_by(term).limit(1)
    chars = sa.select(first.scalar_subquery().label("char")).cte("firsts", recursive=True)
    following = first.where(term >= chars.c.char + HIGHEST).scalar_subquery()
    return chars.union_all(sa.select(following).where(chars.c.char.is_not(None)))


def find_in_postgresql(run: str) -> sa.Select[Any]:
    """Return the statement that finds texts with one or two characters by an index of them."""
    short_runs = sa.func.short_runs(pass_texts.c.text, type_=ARRAY(sa.String))
    return sa.select(pass_texts.c.number).where(short_runs.contains([run]))
