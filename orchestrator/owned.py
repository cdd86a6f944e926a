"""Folders that belong to a living process, and the end of those whose owner died.

A pid does not tell who owns a folder: another process may have it by now, and in another container
it means nothing. An owner holds a lock instead, which the kernel drops however the owner ends.
"""

from __future__ import annotations

import fcntl
import logging
import os
import shutil
import signal
import tempfile
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

PREFIX = "plates-"
MARK = ".plates-children"
"""A file that only our folders have. Child processes keep it open, and locked."""
PROC = Path("/proc")
ENDING_S = 5.0
"""Most that we wait for processes to be gone once they are killed."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class OwnedFolder:
    """A folder where TMPDIR says: who made it `remove`s it, or else whoever starts next does.

    The folder itself is locked, so that who tidies up /tmp leaves it alone, too; systemd-tmpfiles
    asks for that.

    Attributes:
        folder: Where it is.
        children: A descriptor for child processes to inherit. It tells that they are there still
            when their parent is gone, and which they are.
    """

    folder: Path
    children: int
    _held: ExitStack = field(repr=False)

    @classmethod
    def make(cls, kind: str = "") -> OwnedFolder:
        """Make it; its name begins with `plates-` and its kind.

        Raises:
            OSError: There is no room for it, or it cannot be locked there.
        """
        folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{kind}"))
        held = ExitStack()
        try:
            hold(held, os.open(folder, os.O_RDONLY | os.O_DIRECTORY))
            # Only now, for a folder without it is nobody's leftover.
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL
            children = hold(held, os.open(folder / MARK, flags, 0o600))
        except BaseException:
            _clear(folder)
            held.close()
            raise
        return cls(folder, children, held)

    def remove(self) -> None:
        """Remove it with all that is in it."""
        _clear(self.folder)
        self._held.close()


def hold(held: ExitStack, opened: int, flags: int = 0) -> int:
    """Lock what a descriptor has opened until it is closed, which is left to a stack; return it.

    Raises:
        OSError: It cannot be locked; BlockingIOError with `LOCK_NB` where somebody else has it.
    """
    held.callback(os.close, opened)
    fcntl.flock(opened, fcntl.LOCK_EX | flags)
    return opened


def is_same(path: Path, opened: int) -> bool:
    """Tell whether a path leads still to what was opened there, and it is this user's."""
    found = path.lstat()
    return os.path.samestat(found, os.fstat(opened)) and found.st_uid == os.geteuid()


def remove_left_folders() -> None:
    """Remove the folders whose owner is gone, and end its children if they are there still."""
    with suppress(OSError):  # no TMPDIR, or one that may not be read
        for mark in Path(tempfile.gettempdir()).glob(f"{PREFIX}*/{MARK}"):
            with suppress(OSError), ExitStack() as held:  # an owner has it, or it goes just now
                _remove_left(mark, held)


def _remove_left(mark: Path, held: ExitStack) -> None:
    folder = mark.parent
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
    owner = hold(held, os.open(folder, flags), fcntl.LOCK_NB)
    if not is_same(folder, owner):
        return
    _end_children(os.open(mark, os.O_RDWR | os.O_NOFOLLOW), held)
    _clear(folder)


def _end_children(mark: int, held: ExitStack) -> None:
    """Return when no child has the mark any more.

    Raises:
        OSError: Some do that cannot be ended: those of another container, say.
    """
    deadline = time.monotonic() + ENDING_S
    held.callback(os.close, mark)
    told: set[int] = set()
    while True:
        try:
            fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise
        found = _holders(mark)
        if found - told:
            logger.warning("ending what is left of a service that was killed: %s", [*found - told])
        told |= found
        for pid in found:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)


def _holders(opened: int) -> set[int]:
    """Return the other processes that have a mark open, as far as this user may know."""
    mark, found = os.fstat(opened), set()
    for link in PROC.glob("[0-9]*/fd/*"):
        with suppress(OSError):  # it ends while we look
            if link.readlink().name == MARK and os.path.samestat(link.stat(), mark):
                found.add(int(link.parts[-3]))
    return found - {os.getpid()}


def _clear(folder: Path) -> None:
    """Remove a folder, its mark last: who is killed meanwhile leaves what can be known."""
    with suppress(OSError):  # the next who starts may have better luck
        for entry in folder.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry, ignore_errors=True)
            elif entry.name != MARK:
                entry.unlink(missing_ok=True)
        (folder / MARK).unlink(missing_ok=True)
        folder.rmdir()
