"""Folders that belong to a living process; removes folders whose owner died.

A process id does not identify the owner: another process may have it now, and it means nothing in
another container. So the owner holds a lock, which the kernel releases however the owner ends.
"""

from __future__ import annotations

import fcntl
import logging
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

PREFIX = "plates-"
MARK = ".plates-children"
"""Name of a file that only our folders have. Child processes keep it open and locked."""
PROC = Path("/proc")
ENDING_S = 5.0
"""Longest wait for killed processes to end."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class LockedFolder:
    """A folder in TMPDIR, or in another folder.

    Its maker removes it with `remove`, or else the next service does.

    The folder itself is locked, so that programs that clean up /tmp leave it alone, too;
    systemd-tmpfiles asks for that.

    Attributes:
        folder: The path of the folder.
        children: A descriptor that child processes inherit. It shows which of them still run when
            their parent has ended.
    """

    folder: Path
    children: int
    _locks: ExitStack = field(repr=False)

    @classmethod
    def make(cls, kind: str = "", parent: Path | None = None) -> LockedFolder:
        """Make the folder; its name begins with `plates-` and its kind.

        Args:
            kind: A part of its name.
            parent: The folder for it; None means TMPDIR.

        Raises:
            OSError: There is no space for it, or it cannot be locked.
        """
        folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{kind}", dir=parent))
        stack = ExitStack()
        try:
            hold(stack, os.open(folder, os.O_RDONLY | os.O_DIRECTORY))
            # Only now: a folder without this file is never removed as a leftover.
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL
            children = hold(stack, os.open(folder / MARK, flags, 0o600))
        except BaseException:
            _clear(folder)
            stack.close()
            raise
        return cls(folder, children, stack)

    def remove(self) -> None:
        """Remove the folder and all files in it."""
        _clear(self.folder)
        self._locks.close()


def hold(stack: ExitStack, descriptor: int, flags: int = 0) -> int:
    """Lock an open descriptor until a stack closes it; return the descriptor.

    Raises:
        OSError: It cannot be locked. It is BlockingIOError with `LOCK_NB` when another process has
            it.
    """
    stack.callback(os.close, descriptor)
    fcntl.flock(descriptor, fcntl.LOCK_EX | flags)
    return descriptor


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Let no other command write a folder for the length of a `with` block; wait for those that do.

    Raises:
        OSError: It is no folder, or cannot be read.
    """
    with ExitStack() as stack:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            hold(stack, descriptor, fcntl.LOCK_NB)
        except BlockingIOError:
            logger.warning("%s: another command writes here; waiting for its end ...", folder)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield


def is_same(path: Path, descriptor: int) -> bool:
    """Tell whether a path still leads to a descriptor's file, and it belongs to this user."""
    stat = path.lstat()
    return os.path.samestat(stat, os.fstat(descriptor)) and stat.st_uid == os.geteuid()


def remove_left_folders(parent: Path | None = None) -> None:
    """Remove the folders whose owner has ended, and end its children if they still run.

    Args:
        parent: The folder that has them; None means TMPDIR.
    """
    with suppress(OSError):  # no TMPDIR, or one that may not be read
        for mark in (parent or Path(tempfile.gettempdir())).glob(f"{PREFIX}*/{MARK}"):
            with suppress(OSError), ExitStack() as stack:  # its owner lives, or it is being removed
                _remove_left(mark, stack)


def _remove_left(mark: Path, stack: ExitStack) -> None:
    folder = mark.parent
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
    owner = hold(stack, os.open(folder, flags), fcntl.LOCK_NB)
    if not is_same(folder, owner):
        return
    _end_children(os.open(mark, os.O_RDWR | os.O_NOFOLLOW), stack)
    _clear(folder)


def _end_children(mark: int, stack: ExitStack) -> None:
    """Kill the children of a service that was killed, and wait until none holds the mark.

    Raises:
        OSError: Some children cannot be ended, for example those of another container.
    """
    deadline = time.monotonic() + ENDING_S
    stack.callback(os.close, mark)
    killed_pids: set[int] = set()
    while True:
        try:
            fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise
        holders = _holders(mark)
        if holders - killed_pids:
            logger.warning(
                "ending what is left of a service that was killed: %s", [*holders - killed_pids]
            )
        killed_pids |= holders
        for pid in holders:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)


def _holders(descriptor: int) -> set[int]:
    """Return the other processes that have a mark open, if this user may see them."""
    mark, holders = os.fstat(descriptor), set()
    for link in PROC.glob("[0-9]*/fd/*"):
        with suppress(OSError):  # the process may end at this moment
            if link.readlink().name == MARK and os.path.samestat(link.stat(), mark):
                holders.add(int(link.parts[-3]))
    return holders - {os.getpid()}


def _clear(folder: Path) -> None:
    """Remove a folder, its mark last: a process killed meanwhile leaves a folder with a mark."""
    with suppress(OSError):  # the next service may succeed
        for entry in folder.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry, ignore_errors=True)
            elif entry.name != MARK:
                entry.unlink(missing_ok=True)
        (folder / MARK).unlink(missing_ok=True)
        folder.rmdir()
