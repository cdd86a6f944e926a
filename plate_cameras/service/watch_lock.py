"""Lets one watcher follow a file of cameras, or several that share them."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from orchestrator.errors import SettingsError

SUFFIX = ".lock"


@contextmanager
def hold_watch(file: Path, folder: Path, *, is_shared: bool) -> Iterator[None]:
    """Keep other watchers away from a file of cameras inside a `with` block.

    Two watchers that do not share would open a gate twice for each vehicle, and keep each pass
    twice. The kernel releases the lock however the process ends.

    Args:
        file: The file of cameras.
        folder: A folder that can be written to. The file's own may be read-only.
        is_shared: True if this watcher shares the cameras with others.

    Raises:
        SettingsError: Another watcher follows the file, and one of both does not share; or the
            folder cannot be used.
    """
    path = folder / f"{file.resolve().name}{SUFFIX}"
    with ExitStack() as held:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            held.callback(os.close, descriptor)
            kind = fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise SettingsError(
                f"{file}: another plates watch follows it already. Stop that one, or start each of "
                "them with --share"
            ) from error
        except OSError as error:
            raise SettingsError(f"{path}: {error.strerror or error}") from error
        yield
