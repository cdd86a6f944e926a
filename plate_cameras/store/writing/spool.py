"""The spool: a bounded folder of events that wait until the database can be used again."""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from orchestrator.host.locked_folders import hold
from plate_cameras.store.errors import RejectedValue, StoreUnavailable
from plate_cameras.store.tables.store_clock import Age
from plate_cameras.store.writing.addressed_events import AddressedEvent, decode, encode
from plate_cameras.store.writing.durable_files import NEW, write_atomically
from plate_cameras.store.writing.spool_files import (
    NO_ROOM,
    REJECTED,
    SpoolCounts,
    SpooledFile,
    SpoolIndex,
    delete_old,
    files_that_show,
    make_name,
)

Content = bytes
LOG = logging.getLogger(__name__)
MAX_BYTES = 2**30
"""Size of the spool: at 0.3 MB an event with its pictures, some 3500 events."""
OWN = "watcher-"
"""Start of the names of folders that watchers of the same configuration use on one machine."""
OF_THE_PROCESS = errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EINTR
"""Errors that say nothing about a file: the process or the machine lacks something now."""


class SpoolInUse(StoreUnavailable):
    """Another process has this spool."""


@dataclass
class Spool:
    """Keeps events in order, as files. One process at a time uses a folder.

    No event is lost by errors of the disk. Only where there is no room, events `updated` are
    deleted.

    Attributes:
        most_bytes: Largest size of all files.
    """

    folder: Path
    most_bytes: int = MAX_BYTES
    counts: SpoolCounts = field(default_factory=SpoolCounts)
    _index: SpoolIndex = field(default_factory=SpoolIndex)
    _lock: ExitStack | None = None

    def __post_init__(self) -> None:
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._index.read(self.folder)
        except OSError as error:
            raise StoreUnavailable(f"the spool cannot be used: {error}") from error

    def __len__(self) -> int:
        return len(self._index)

    @property
    def bytes(self) -> int:
        """Size of all waiting files."""
        return self._index.bytes

    @property
    def root(self) -> Path:
        """The folder under which all watchers of the configuration have theirs."""
        return self.folder.parent if self.folder.name.startswith(OWN) else self.folder

    def put(self, events: Sequence[AddressedEvent]) -> None:
        """Keep events, all of them or none. An event that no file can hold is left out, and told.

        The oldest events `updated` make room. When none is left, the caller has to wait.

        Raises:
            StoreUnavailable: The spool is full, or its disk cannot be used.
        """
        files: list[Path] = []
        self.acquire()
        try:
            for event in events:
                if file := self._put(event):
                    files.append(file)
        except StoreUnavailable:
            self.discard(files)
            raise
        self.counts.spooled += len(files)

    def oldest(self, count: int) -> list[SpooledFile]:
        """Return the oldest events; those that cannot be read are put aside."""
        self.acquire()
        return list(islice(self._read(), count))

    def discard(self, files: Iterable[Path]) -> None:
        """Delete files that wait no more. Those that cannot be deleted now are not used again."""
        for file in [*files, *self._index.done]:
            self._index.forget(file)
            try:
                file.unlink(missing_ok=True)
                self._index.done.discard(file)
            except OSError as error:
                if file not in self._index.done:
                    LOG.error("%s: cannot be deleted: %s", file, error.strerror)
                self._index.done.add(file)

    def reject(self, file: Path, reason: object) -> None:
        """Put an event aside that would stop all others."""
        LOG.error("%s: the event is put aside in %s: %s", file.name, REJECTED, reason)
        try:
            self._put_aside(file)
        except OSError as error:  # it stays in its place, and is tried again by the next process
            LOG.error("%s: cannot be put aside: %s", file, error.strerror)
            self._index.forget(file)
        self.counts.rejected += 1

    def erase(self, text: str) -> int:
        """Delete the waiting and the rejected events that show a plate, on its owner's request.

        The spools of other watchers of the same configuration are searched, too. Nobody has to wait
        meanwhile.

        Returns:
            Their number.

        Raises:
            StoreUnavailable: A file cannot be read or deleted. All others are done.
        """
        files, errors = files_that_show(self.root, text)
        for file in files:
            self._index.forget(file)
            try:
                file.unlink(missing_ok=True)
            except OSError as error:
                errors.append(error)
        if errors:
            raise StoreUnavailable(f"the spool cannot be searched: {errors[0]}") from errors[0]
        return len(files)

    def discard_rejected(self, age: Age) -> None:
        """Delete the old ones of the rejected events.

        Raises:
            StoreUnavailable: Some cannot be deleted. The others are.
        """
        delete_old(self.root, lambda file: file.parent.name == REJECTED, age)

    def close(self) -> None:
        """Let another process use the folder."""
        if self._lock:
            self._lock.close()
            self._lock = None

    def acquire(self) -> None:
        """Lock the folder before its files are written or replayed.

        Raises:
            SpoolInUse: Another process has it.
        """
        if self._lock:
            return
        try:
            with ExitStack() as stack:
                hold(stack, os.open(self.folder, os.O_RDONLY), fcntl.LOCK_NB)
                for file in self.folder.glob(f"{NEW}*"):  # of a process that was killed
                    with suppress(OSError):
                        file.unlink()
                self._index.read(self.folder)
                self._lock = stack.pop_all()
        except BlockingIOError as error:
            raise SpoolInUse(
                f"{self.folder}: another process uses this spool. Give each its own"
            ) from error
        except OSError as error:
            raise StoreUnavailable(f"the spool cannot be used: {error}") from error

    def _read(self) -> Iterator[SpooledFile]:
        for file in self._index.files:
            try:
                yield SpooledFile(file, decode(file.read_bytes()))
            except FileNotFoundError:  # another process has erased a plate
                self._index.forget(file)
            except RejectedValue as error:
                self.reject(file, error)
            except OSError as error:
                self._reject_unreadable(file, error)

    def _reject_unreadable(self, file: Path, error: OSError) -> None:
        """Put a file aside that cannot be read, unless it is not the file's fault."""
        try:
            if error.errno in OF_THE_PROCESS:
                raise error
            self._put_aside(file)
        except OSError as also:
            raise StoreUnavailable(f"the spool cannot be read: {error}") from also
        LOG.error("%s: the event is put aside in %s: %s", file.name, REJECTED, error)
        self.counts.rejected += 1

    def _put_aside(self, file: Path) -> None:
        aside = self.folder / REJECTED
        aside.mkdir(exist_ok=True)
        target = aside / file.name
        if target.exists():  # files of earlier versions had numbers alone
            target = aside / make_name(self._index.next, "again")
        file.rename(target)
        self._index.forget(file)

    def _put(self, event: AddressedEvent) -> Path | None:
        """Write one event; None for one that is dropped or that no file can hold."""
        try:
            content = encode(event)
        except (TypeError, ValueError, OverflowError) as error:
            LOG.error("%s: the event cannot be kept: %s", event.id, error)
            self.counts.rejected += 1
            return None
        kind = event.kind
        while not (file := self._write(content, kind)):
            if self._drop_oldest_update(len(content)):
                continue
            if kind == "updated":
                self._count_dropped(event.vehicle_pass.id)
                return None
            raise StoreUnavailable(f"the spool is full: {self.folder}")
        return file

    def _write(self, content: Content, kind: str) -> Path | None:
        """Write a file; None if there is no room."""
        if self._index.bytes + len(content) > self.most_bytes:
            return None
        file = self.folder / make_name(self._index.next, kind)
        try:
            write_atomically(file, content)
        except OSError as error:
            if error.errno in NO_ROOM:
                return None
            raise StoreUnavailable(f"the spool cannot be written: {error}") from error
        self._index.add(file, len(content))
        return file

    def _drop_oldest_update(self, size: int) -> bool:
        """Delete the oldest event `updated`, if all of them together would make room."""
        updates = self._index.updates
        if not updates or self._free_bytes() + sum(updates.values()) < size:
            return False
        file = next(iter(updates))
        try:
            file.unlink(missing_ok=True)
        except OSError as error:
            raise StoreUnavailable(f"the spool cannot be written: {error}") from error
        self._index.forget(file)
        self._count_dropped(file.name)
        return True

    def _free_bytes(self) -> int:
        """Return the room that is left by its own limit and on the disk."""
        try:
            on_disk = shutil.disk_usage(self.folder).free
        except OSError as error:
            raise StoreUnavailable(f"the spool cannot be used: {error}") from error
        return min(on_disk, self.most_bytes - self._index.bytes)

    def _count_dropped(self, name: str) -> None:
        self.counts.dropped += 1
        LOG.warning("the spool is full: the event %s is deleted; its pass is not", name)
