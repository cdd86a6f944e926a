"""A picture to recognise, wherever it lies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from orchestrator.errors import PictureError

MOST_MB = 64
"""Of what comes from elsewhere, an archive or a web server, which may be larger than it says."""
MOST_BYTES = MOST_MB << 20


@dataclass(frozen=True)
class Source:
    """A picture to recognise.

    Attributes:
        name: What it is called in every output: its path, that of its archive and its own in it,
            its URL, or `-` for standard input.
        below: Where what is made of it goes, below the folder for that: its path below the folder
            that was named; its file's name where it was named itself.
        read: Gives its bytes; raises PictureError where it cannot be read.
        is_there: There is something to read.
    """

    name: str
    below: Path
    read: Callable[[], bytes]
    is_there: bool = True


def missing(name: str, reason: str) -> Source:
    """Return what stands for something that was named and cannot be used: its reading says why."""

    def read() -> bytes:
        raise PictureError(reason)

    return Source(name, Path(Path(name).name or "nothing"), read, is_there=False)
