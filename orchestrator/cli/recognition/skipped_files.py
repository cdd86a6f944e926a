"""Skipped files of folders and archives, counted by kind, so that none is hidden."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import PurePath

from orchestrator.imaging import heic
from orchestrator.imaging.files import SUFFIXES

MAX_KINDS = 8
"""Largest number of kinds of files that are reported by name; the rest only by number."""
NO_SUFFIX = "without a suffix"
WANTED = "JPEG, PNG, WebP or BMP"
CLIPS = {
    ".3gp", ".264", ".265", ".avi", ".flv", ".h264", ".h265", ".hevc", ".m2ts", ".m4v", ".mjpeg",
    ".mkv", ".mov", ".mp4", ".mpeg", ".mpg", ".mts", ".ts", ".webm", ".wmv",
}  # fmt: skip
CLIP_HINT = "to read a clip: plates watch --once clip.mp4"
HEIC_HINT = "to read HEIC files: pip install pillow-heif"


class SkippedFiles:
    """The files that were not sent to the server, with the reasons.

    Attributes:
        kinds: Files that are no readable pictures, by their suffix.
        special_files: Named pipes, sockets and devices.
        own_files: Drawings and crops that this command wrote.
    """

    def __init__(self) -> None:
        self.kinds: Counter[str] = Counter()
        self.special_files = 0
        self.own_files = 0

    def is_picture(self, path: PurePath) -> bool:
        """Tell whether a file has the name of a picture; count it if it has not."""
        suffix = path.suffix.lower()
        if suffix in SUFFIXES or (suffix in heic.SUFFIXES and heic.can_read()):
            return True
        self.kinds[suffix or NO_SUFFIX] += 1
        return False

    def report(self) -> Iterator[str]:
        """Yield a sentence for each reason."""
        if count := self.kinds.total():
            counts = [f"{number} {kind}" for kind, number in self.kinds.most_common(MAX_KINDS)]
            if len(self.kinds) > MAX_KINDS:
                counts.append("others")
            are = "is" if count == 1 else "are"
            yield f"skipped {_files(count)} that {are} not {WANTED}: {', '.join(counts)}"
        if self.kinds.keys() & heic.SUFFIXES:
            yield HEIC_HINT
        if self.kinds.keys() & CLIPS:
            yield CLIP_HINT
        if self.special_files:
            yield f"skipped {_files(self.special_files)}: a named pipe, a socket or a device"
        if self.own_files:
            yield f"skipped {_files(self.own_files)} that an earlier --annotate or --crops wrote"


def _files(count: int) -> str:
    return "1 file" if count == 1 else f"{count:,} files"
