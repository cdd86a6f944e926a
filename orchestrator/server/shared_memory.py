"""The regions of one server in shared memory, and the end of those whose owner died."""

from __future__ import annotations

import fcntl
import os
import secrets
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field

from orchestrator.contract import SHM
from orchestrator.owned import hold, is_same

OWNER = "owner"
"""How the name of the file ends that is locked as long as the others are needed."""


@dataclass(frozen=True)
class Regions:
    """Files in shared memory whose names begin alike.

    Others may share the memory without sharing /tmp: a container keeps it when it starts again.
    So these have a lock of their own.

    Attributes:
        prefix: How their names begin.
        lock: A descriptor for child processes to inherit, so that it is held as long as they live.
    """

    prefix: str
    lock: int
    _held: ExitStack = field(repr=False)

    @classmethod
    def make(cls) -> Regions:
        """Choose a prefix that nobody else has.

        Raises:
            OSError: Nothing can be written there.
        """
        prefix = f"plates_{os.getpid()}_{secrets.token_hex(6)}_"
        new, held = SHM / f"{prefix}new", ExitStack()
        try:
            lock = hold(held, os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
            new.rename(SHM / f"{prefix}{OWNER}")  # none of this name was ever without a lock
        except BaseException:
            new.unlink(missing_ok=True)
            held.close()
            raise
        return cls(prefix, lock, held)

    def close_to_others(self) -> None:
        """Let this user alone read them; Triton lets everybody."""
        for region in SHM.glob(f"{self.prefix}*"):
            with suppress(OSError):  # it may go while we look
                region.chmod(0o600)

    def remove(self) -> None:
        """Remove them."""
        _clear(self.prefix)
        self._held.close()


def remove_left_regions() -> None:
    """Remove those whose owner is gone, with its child processes."""
    for owner in SHM.glob(f"plates_*_{OWNER}"):
        with suppress(OSError), ExitStack() as held:  # an owner has it, or it goes just now
            opened = os.open(owner, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            hold(held, opened, fcntl.LOCK_NB)
            if is_same(owner, opened):
                _clear(owner.name.removesuffix(OWNER))


def _clear(prefix: str) -> None:
    """Remove what begins so, the owner's file last: it tells that the others may go."""
    owner = SHM / f"{prefix}{OWNER}"
    for region in {*SHM.glob(f"{prefix}*")} - {owner}:
        with suppress(OSError):
            region.unlink()
    owner.unlink(missing_ok=True)
