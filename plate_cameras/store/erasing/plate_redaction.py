"""Takes a plate's text out of words and out of JSON values."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from orchestrator.formats.transliteration import CYRILLIC, LATIN, to_cyrillic, to_latin

DELETED = "deleted"
"""Stands for the text of a plate that was deleted."""
SEPARATORS = r"[\W_]{0,3}"
"""The signs that people write between the characters of a plate."""
SHOWN = {"text": "", "text_native": "", "text_score": 0.0, "last_text": ""}
"""Fields of a document that tell a plate, and what stands in them without one."""
RESPELLED = dict(zip(LATIN, CYRILLIC, strict=True))


def without_text(value: Any, text: str) -> Any:
    """Return a JSON value without what is about a text.

    List items go: the text, a pair that begins with it, or an object whose `text` it is. An object
    that is no list item keeps its other fields.

    Args:
        value: The value.
        text: The text in Latin look-alikes. It is also found in Cyrillic letters.
    """
    spellings = text, to_cyrillic(text)
    if isinstance(value, list):
        return [without_text(one, text) for one in value if not _is_about(one, spellings)]
    if isinstance(value, dict):
        is_it = any(value.get(name) in spellings for name in ("text", "text_native", "last_text"))
        cleared = {name: empty for name, empty in SHOWN.items() if is_it and name in value}
        return {name: without_text(one, text) for name, one in value.items()} | cleared
    return value


def redact(words: str, text: str) -> str:
    """Return words in which a plate's text is replaced, however it is written.

    Its letters may be Latin or Cyrillic, small or large, with spaces or hyphens between them.
    """
    return _pattern(text).sub(DELETED, words)


def redact_value(value: Any, text: str) -> Any:
    """Return a JSON value in whose strings a plate's text is replaced, as `redact` does."""
    if isinstance(value, str):
        return redact(value, text)
    if isinstance(value, list):
        return [redact_value(one, text) for one in value]
    if isinstance(value, dict):
        return {redact(name, text): redact_value(one, text) for name, one in value.items()}
    return value


@lru_cache(maxsize=8)
def _pattern(text: str) -> re.Pattern[str]:
    if not text:
        return re.compile(r"(?!)")
    characters = ("".join({one, RESPELLED.get(one, one)}) for one in to_latin(text))
    spelled = SEPARATORS.join(f"[{re.escape(one)}]" for one in characters)
    return re.compile(rf"(?<!\w){spelled}(?!\w)", re.IGNORECASE)


def _is_about(item: Any, spellings: tuple[str, str]) -> bool:
    if isinstance(item, dict):
        return item.get("text") in spellings
    return item in spellings or (isinstance(item, list) and bool(item) and item[0] in spellings)
