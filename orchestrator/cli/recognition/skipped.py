"""Files of folders and archives that are passed over: counted by kind, so that none is hidden."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import PurePath

from orchestrator.picture_files import SUFFIXES

MOST_KINDS = 8
"""Told by name; the rest only as how many."""
NO_SUFFIX = "without a suffix"
WANTED = "JPEG, PNG, WebP or BMP"


class Skipped:
    """What was not sent to the server, and why.

    Attributes:
        kinds: Files that are no pictures which can be read, by their suffix.
        made: Drawings and crops that this command wrote.
    """

    def __init__(self) -> None:
        self.kinds: Counter[str] = Counter()
        self.made = 0

    def is_picture(self, path: PurePath) -> bool:
        """Tell whether a file is named like a picture; count it where it is not."""
        suffix = path.suffix.lower()
        if suffix in SUFFIXES:
            return True
        self.kinds[suffix or NO_SUFFIX] += 1
        return False

    def tell(self) -> Iterator[str]:
        """Yield a sentence for each reason."""
        if count := self.kinds.total():
            named = [f"{number} {kind}" for kind, number in self.kinds.most_common(MOST_KINDS)]
            if len(self.kinds) > MOST_KINDS:
                named.append("others")
            are = "is" if count == 1 else "are"
            yield f"skipped {_files(count)} that {are} not {WANTED}: {', '.join(named)}"
        if self.made:
            yield f"skipped {_files(self.made)} that an earlier --annotate or --crops wrote"


def _files(count: int) -> str:
    return "1 file" if count == 1 else f"{count:,} files"
