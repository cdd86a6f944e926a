"""The spool: a bounded folder of events that wait until the database can be used again."""

from __future__ import annotations

import fcntl
import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from itertools import chain, count, islice
from pathlib import Path

from orchestrator.cameras.store.addressed_events import AddressedEvent
from orchestrator.cameras.store.durable_files import write_atomically
from orchestrator.cameras.store.errors import RejectedValue, StoreUnavailable
from orchestrator.cameras.store.event_codec import decode, encode
from orchestrator.system.locked_folders import hold

LOG = logging.getLogger(__name__)
MOST_BYTES = 2**30
"""Size of the spool: at 0.3 MB an event with its pictures, some 3500 events."""
OWN = "watcher-"
"""Start of the names of folders that watchers of the same configuration use on one machine."""
REJECTED = "rejected"
"""Folder of the events that the database does not accept, or that cannot be read."""


class SpoolInUse(StoreUnavailable):
    """Another process has this spool."""


@dataclass
class SpoolCounts:
    """The counts of a spool since it was opened.

    Attributes:
        spooled: Events that were put in.
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
    """One event of the spool.

    Attributes:
        file: Its file.
        event: The event.
    """

    file: Path
    event: AddressedEvent


@dataclass
class Spool:
    """Keeps events in order, as files. One process at a time uses a folder.

    Attributes:
        folder: The folder.
        most_bytes: Largest size of all files.
        counts: Counts of its events.
    """

    folder: Path
    most_bytes: int = MOST_BYTES
    counts: SpoolCounts = field(default_factory=SpoolCounts)
    _sizes: dict[Path, int] = field(default_factory=dict)
    _next: int = 0
    _held: ExitStack | None = None

    def __post_init__(self) -> None:
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._list()
        except OSError as error:
            raise StoreUnavailable(f"the spool cannot be used: {error}") from error

    def __len__(self) -> int:
        return len(self._sizes)

    @property
    def bytes(self) -> int:
        """Size of all waiting files."""
        return sum(self._sizes.values())

    def put(self, events: Sequence[AddressedEvent]) -> None:
        """Keep events, all of them or none.

        The oldest events `updated` make room. When none is left, the caller has to wait.

        Raises:
            StoreUnavailable: The spool is full, or its disk is.
        """
        written: list[Path] = []
        self.acquire()
        try:
            for event in events:
                if file := self._put(event):
                    written.append(file)
        except StoreUnavailable:
            self.discard(written)
            raise
        self.counts.spooled += len(written)

    def oldest(self, count: int) -> list[SpooledFile]:
        """Return the oldest events; those that cannot be read are put aside."""
        self.acquire()
        return list(islice(self._read(), count))

    def discard(self, files: Iterable[Path]) -> None:
        """Delete files of the spool."""
        for file in files:
            file.unlink(missing_ok=True)
            self._sizes.pop(file, None)

    def reject(self, file: Path, reason: object) -> None:
        """Put an event aside that would stop all others."""
        LOG.error("%s: the event is put aside in %s: %s", file.name, REJECTED, reason)
        aside = self.folder / REJECTED
        aside.mkdir(exist_ok=True)
        file.rename(aside / file.name)
        self._sizes.pop(file, None)
        self.counts.rejected += 1

    def erase(self, text: str) -> int:
        """Delete the waiting and the rejected events that show a plate, on its owner's request.

        Spools in folders below are searched, too: watchers that share cameras have one each.

        Returns:
            Their number.
        """
        found = [file for file in self.folder.rglob("*.event") if _shows(file, text)]
        self.discard(found)
        return len(found)

    def discard_rejected(self, before_s: float) -> None:
        """Delete the rejected events that were written before a Unix time."""
        for file in self.folder.glob(f"{REJECTED}/*.event"):
            with suppress(FileNotFoundError):
                if file.stat().st_mtime < before_s:
                    file.unlink()

    def close(self) -> None:
        """Let another process use the folder."""
        if self._held:
            self._held.close()
            self._held = None

    def acquire(self) -> None:
        """Lock the folder before its files are written or replayed.

        Raises:
            SpoolInUse: Another process has it.
        """
        if self._held:
            return
        with ExitStack() as held:
            try:
                hold(held, os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY), fcntl.LOCK_NB)
            except OSError as error:
                raise SpoolInUse(
                    f"{self.folder}: another process uses this spool. Give each its own"
                ) from error
            for left in self.folder.glob(".new-*"):  # of a process that was killed
                left.unlink(missing_ok=True)
            self._list()
            self._held = held.pop_all()

    def _list(self) -> None:
        files = sorted(self.folder.glob("*.event"))
        self._sizes = {file: file.stat().st_size for file in files}
        self._next = _number(files[-1]) + 1 if files else 0

    def _read(self) -> Iterator[SpooledFile]:
        for file in [*self._sizes]:
            try:
                yield SpooledFile(file, decode(file.read_bytes()))
            except FileNotFoundError:  # another process has erased a plate
                self._sizes.pop(file)
            except RejectedValue as error:
                self.reject(file, error)

    def _put(self, event: AddressedEvent) -> Path | None:
        """Write one event; None when it is an `updated` for which there is no room."""
        content = encode(event)
        kind = event.event.kind
        while True:
            try:
                self._check_room(len(content))
                file = self.folder / f"{self._next:016d}-{kind}.event"
                write_atomically(file, content)
                break
            except OSError as error:
                if self._drop_oldest_update():
                    continue
                if kind == "updated":
                    self._count_dropped(event.event.passed.id)
                    return None
                raise StoreUnavailable(f"the spool is full: {error.strerror or error}") from error
        self._next += 1
        self._sizes[file] = len(content)
        return file

    def _check_room(self, size: int) -> None:
        if self.bytes + size > self.most_bytes:
            raise OSError(f"wanted at most {self.most_bytes} bytes")

    def _drop_oldest_update(self) -> bool:
        file = next((file for file in self._sizes if file.name.endswith("-updated.event")), None)
        if file is None:
            return False
        self.discard([file])
        self._count_dropped(file.name)
        return True

    def _count_dropped(self, name: str) -> None:
        self.counts.dropped += 1
        LOG.warning("the spool is full: the event %s is deleted; its pass is not", name)


def open_own_spool(folder: Path, most_bytes: int = MOST_BYTES) -> Spool:
    """Return a spool that no other process has: in a folder, or in one of those below it.

    One with events that a process has left comes first.

    Raises:
        StoreUnavailable: The folders cannot be used.
    """
    others = sorted(folder.glob(f"{OWN}*"))
    left = [one for one in others if any(one.glob("*.event"))]
    new = (folder / f"{OWN}{number}" for number in count(2))
    for candidate in chain(left, [folder], new):
        spool = Spool(candidate, most_bytes)
        try:
            spool.acquire()
        except SpoolInUse:
            continue
        return spool
    raise AssertionError("there is always another number")


def _number(file: Path) -> int:
    return int(file.name.partition("-")[0])


def _shows(file: Path, text: str) -> bool:
    content = file.read_bytes()
    try:
        passed = decode(content).event.passed
    except RejectedValue:  # damaged; its text may still be there
        return f'"{text}"'.encode() in content
    read = not passed.text and any(one.plate.text == text for one in passed.observations)
    return passed.text == text or read
