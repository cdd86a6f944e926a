"""The files of spools: their names, those of all watchers below a folder, and their age.

An index in memory has those that wait in the spool of this process.
"""

from __future__ import annotations

import errno
import json
import os
import re
import secrets
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from threading import Lock

from plate_cameras.store.errors import RejectedValue, StoreUnavailable
from plate_cameras.store.tables.store_clock import Age
from plate_cameras.store.writing.addressed_events import AddressedEvent, decode
from plate_cameras.store.writing.durable_files import NEW

ENDING = ".event"
UPDATED = f"-updated{ENDING}"
REJECTED = "rejected"
"""Folder of the events that the database does not accept, or that cannot be read."""
NO_ROOM = errno.ENOSPC, errno.EDQUOT
"""Errors of a disk, or a share of it, that is full."""
NUMBERED = re.compile(rf"(\d+)-.*{re.escape(ENDING)}")
STAMP = re.compile(r"\.kept-(\d+)$")
"""Ending of a file that retention has seen, with the time of the store's clock."""


@dataclass
class SpoolCounts:
    """The counts of a spool since it was opened.

    Attributes:
        replayed: Events that went to the database later.
        dropped: Events `updated` that a full spool has deleted. Their passes are not lost: the last
            event of a pass tells all of it.
        rejected: Events that were put aside.
    """

    spooled: int = 0
    replayed: int = 0
    dropped: int = 0
    rejected: int = 0


@dataclass(frozen=True)
class SpooledFile:
    """One event of the spool."""

    file: Path
    event: AddressedEvent


def make_name(number: int, kind: str) -> str:
    """Return the name of a file, which no other file ever had or gets."""
    return f"{number:016d}-{secrets.token_hex(6)}-{kind}{ENDING}"


def number_of(file: Path) -> int | None:
    """Return the number in a file's name; None if it is no event of ours."""
    match = NUMBERED.match(file.name)
    return int(match[1]) if match else None


def walk(folder: Path) -> Iterator[Path]:
    """Yield all files below a folder; what vanishes meanwhile is left out.

    Raises:
        OSError: A folder cannot be read.
    """

    def tell(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            raise error

    for root, _, names in os.walk(folder, onerror=tell):
        yield from (Path(root, name) for name in names)


def files_that_show(folder: Path, text: str) -> tuple[list[Path], list[OSError]]:
    """Return the files of all spools below a folder that show a plate, and what cannot be read.

    Files that a killed process has left half-written are among them.
    """
    files: list[Path] = []
    errors: list[OSError] = []
    try:
        for file in walk(folder):
            if not (number_of(file) is not None or file.name.startswith(NEW)):
                continue
            try:
                if _shows(file.read_bytes(), text):
                    files.append(file)
            except FileNotFoundError:
                continue  # it was replayed
            except OSError as error:
                errors.append(error)
    except OSError as error:
        errors.append(error)
    return files, errors


def delete_old(folder: Path, is_chosen: Callable[[Path], bool], age: Age) -> None:
    """Delete files below a folder that are old by both clocks. New ones get a stamp first.

    Raises:
        StoreUnavailable: Some cannot be deleted. The others are.
    """
    errors: list[OSError] = []
    try:
        files = [file for file in walk(folder) if is_chosen(file)]
    except OSError as error:
        raise StoreUnavailable(f"the spool cannot be read: {error}") from error
    for file in files:
        try:
            with suppress(FileNotFoundError):
                if _is_old(file, age):
                    file.unlink()
        except OSError as error:
            errors.append(error)
    if errors:
        raise StoreUnavailable(f"old files cannot be deleted: {errors[0]}")


def _is_old(file: Path, age: Age) -> bool:
    is_old = file.stat().st_mtime < age.until_s
    if age.kept_now_s is None:
        return is_old
    if stamp := STAMP.search(file.name):
        return is_old and int(stamp[1]) < age.kept_until_s
    file.rename(file.with_name(f"{file.name}.kept-{round(age.kept_now_s)}"))
    return False


def _shows(content: bytes, text: str) -> bool:
    if json.dumps(text).encode() not in content:
        return False
    try:
        vehicle_pass = decode(content).vehicle_pass
    except RejectedValue:  # damaged; its text may still be there
        return True
    is_read = not vehicle_pass.text and any(
        observation.plate.text == text for observation in vehicle_pass.observations
    )
    return vehicle_pass.text == text or is_read


@dataclass
class SpoolIndex:
    """The waiting files of a folder, the oldest first. Several threads may use it.

    Attributes:
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
        with self._lock:
            return [*self._sizes]

    @property
    def updates(self) -> dict[Path, int]:
        """The sizes of the events `updated`."""
        with self._lock:
            return {file: size for file, size in self._sizes.items() if file.name.endswith(UPDATED)}

    def read(self, folder: Path) -> None:
        """Look at a folder."""
        files = sorted(folder.glob(f"*{ENDING}"))
        aside = folder.glob(f"{REJECTED}/*")
        numbers = [
            number for path in chain(files, aside) if (number := number_of(path)) is not None
        ]
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
