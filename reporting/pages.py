"""Pages parts of which are written from figures.

A part stands between `<!-- figures: NAME -->` and `<!-- end of figures -->`; nothing else in a page
is touched.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from orchestrator.errors import DataError

PART = re.compile(r"(<!-- figures: ([\w-]+) -->\n)(.*?)(<!-- end of figures -->)", re.DOTALL)


def rewrite(page: str, writers: Mapping[str, Callable[[], str]]) -> str:
    """Return a page with each of its parts written anew.

    Args:
        page: Its text.
        writers: By name, what gives a part's text.

    Raises:
        DataError: The page has no part, or one that nobody writes.
    """
    names = [name for _, name, _, _ in PART.findall(page)]
    unknown = [name for name in names if name not in writers]
    if not names or unknown:
        got = unknown[0] if unknown else "none"
        raise DataError(f"page: wanted parts {', '.join(writers)}, got {got}")
    return PART.sub(lambda part: f"{part[1]}\n{writers[part[2]]()}\n{part[4]}", page)
