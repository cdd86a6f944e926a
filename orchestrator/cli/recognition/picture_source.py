"""A picture to recognise, from any source."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from orchestrator.errors import PictureError

MAX_MB = 64
"""Largest download or archive member, in MB; its content may be larger than it claims."""
MAX_BYTES = MAX_MB << 20


@dataclass(frozen=True)
class Source:
    """A picture to recognise.

    Attributes:
        name: Its name in every output. It is its path, its archive's path and its own in it, its
            URL, or `-` for standard input.
        below: Path for its drawing and crops below their folders. It is its path below the named
            folder, or its file name if it was named itself.
        read: Returns its bytes; raises PictureError if it cannot be read.
        is_there: There is something to read.
    """

    name: str
    below: Path
    read: Callable[[], bytes]
    is_there: bool = True


def make_placeholder(name: str, reason: str) -> Source:
    """Return a placeholder for a name that cannot be used; reading it gives the reason."""

    def read() -> bytes:
        raise PictureError(reason)

    return Source(name, Path(Path(name).name or "nothing"), read, is_there=False)
