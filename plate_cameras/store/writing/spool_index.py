"""A list, in memory, of the files that wait in a spool's folder."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from threading import Lock

from plate_cameras.store.writing.spool_files import ENDING, REJECTED, UPDATED, number_of


@dataclass
class SpoolIndex:
    """The waiting files of a folder, the oldest first. Several threads may use it.

    Attributes:
        bytes: Size of all.
        next: Number of the next file. It is above those of all files, also of those put aside.
        done: Files that wait no more, but could not be deleted.
    """

    bytes: int = 0
    next: int = 0
    done: set[Path] = field(default_factory=set)
    _sizes: dict[Path, int] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def __len__(self) -> int:
        return len(self._sizes)

    @property
    def files(self) -> list[Path]:
        """The files."""
        with self._lock:
            return [*self._sizes]

    @property
    def updates(self) -> dict[Path, int]:
        """The sizes of the events `updated`."""
        with self._lock:
            return {file: size for file, size in self._sizes.items() if file.name.endswith(UPDATED)}

    def read(self, folder: Path) -> None:
        """Look at a folder.

        Raises:
            OSError: It cannot be read.
        """
        files = sorted(folder.glob(f"*{ENDING}"))
        aside = folder.glob(f"{REJECTED}/*")
        numbers = [number for one in chain(files, aside) if (number := number_of(one)) is not None]
        sizes = {}
        for file in files:
            if number_of(file) is not None and file not in self.done:
                with suppress(FileNotFoundError):  # another process has erased a plate
                    sizes[file] = file.stat().st_size
        with self._lock:
            self._sizes, self.bytes = sizes, sum(sizes.values())
            self.next = max([self.next - 1, *numbers]) + 1

    def add(self, file: Path, size: int) -> None:
        """Note a new file."""
        with self._lock:
            self._sizes[file] = size
            self.bytes += size
            self.next += 1

    def forget(self, file: Path) -> None:
        """Note that a file waits no more."""
        with self._lock:
            self.bytes -= self._sizes.pop(file, 0)
