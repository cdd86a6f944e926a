"""The state of the database, the spool and their disks, for metrics."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Disk:
    """A disk that a folder lies on.

    Attributes:
        free_bytes: Bytes that are left for this process.
        size_bytes: All bytes.
    """

    free_bytes: int
    size_bytes: int


@dataclass(frozen=True)
class StorageStatus:
    """The state of the storage.

    Attributes:
        is_database_up: True if the database answered the last time.
        spool_limit_bytes: Largest size of the spool.
        disks: Disks by what lies on them: `spool`, and `pictures` unless they are in S3.
        clock_ahead_s: Seconds that the wall clock is ahead of the store's clock.
        rejected: Events that were put aside.
    """

    is_database_up: bool
    spool_limit_bytes: int
    disks: Mapping[str, Disk] = field(default_factory=dict)
    clock_ahead_s: float = 0.0
    rejected: int = 0


def measure_disks(folders: Mapping[str, Path]) -> dict[str, Disk]:
    """Return the disks of folders; one that cannot be asked now is left out."""
    disks = {}
    for name, folder in folders.items():
        try:
            usage = shutil.disk_usage(
                next(one for one in (folder, *folder.parents) if one.exists())
            )
        except OSError:
            continue
        disks[name] = Disk(usage.free, usage.total)
    return disks
