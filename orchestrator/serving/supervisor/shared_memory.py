"""The regions of one server in shared memory; removes regions whose owner died."""

from __future__ import annotations

import fcntl
import os
import secrets
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field

from orchestrator.contract import SHM
from orchestrator.host.locked_folders import hold, is_same

OWNER = "owner"
"""Suffix of the lock file: it is locked as long as the other files are needed."""


@dataclass(frozen=True)
class Regions:
    """Files in shared memory with the same prefix.

    Services can share this memory without sharing /tmp: a container keeps it when it restarts. So
    these files have a lock of their own.

    Attributes:
        prefix: The prefix of their names.
        lock: A descriptor that child processes inherit, so that the lock is held as long as they
            live.
    """

    prefix: str
    lock: int
    _held: ExitStack = field(repr=False)

    @classmethod
    def make(cls) -> Regions:
        """Choose a prefix that no other service has.

        Raises:
            OSError: The folder cannot be written.
        """
        prefix = f"plates_{os.getpid()}_{secrets.token_hex(6)}_"
        new, held = SHM / f"{prefix}new", ExitStack()
        try:
            lock = hold(held, os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
            new.rename(SHM / f"{prefix}{OWNER}")  # this name never exists without a lock
        except BaseException:
            new.unlink(missing_ok=True)
            held.close()
            raise
        return cls(prefix, lock, held)

    def close_to_others(self) -> None:
        """Let only this user read the files; Triton lets everybody."""
        for region in SHM.glob(f"{self.prefix}*"):
            with suppress(OSError):  # the file may be removed at this moment
                region.chmod(0o600)

    def remove(self) -> None:
        """Remove the files."""
        _clear(self.prefix)
        self._held.close()


def remove_left_regions() -> None:
    """Remove the regions whose owner and its child processes have ended."""
    for owner in SHM.glob(f"plates_*_{OWNER}"):
        with suppress(OSError), ExitStack() as held:  # its owner lives, or it goes just now
            opened = os.open(owner, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            hold(held, opened, fcntl.LOCK_NB)
            if is_same(owner, opened):
                _clear(owner.name.removesuffix(OWNER))


def _clear(prefix: str) -> None:
    """Remove the files with a prefix; the lock file last, as it marks the others for removal."""
    owner = SHM / f"{prefix}{OWNER}"
    for region in {*SHM.glob(f"{prefix}*")} - {owner}:
        with suppress(OSError):
            region.unlink()
    owner.unlink(missing_ok=True)
