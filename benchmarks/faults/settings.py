"""How a service is started for a fault: as ever, in mounts of its own, with another clock."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.faults.hanging import hanging_repository
from benchmarks.faults.service import Way
from benchmarks.processes import SHM
from orchestrator.errors import PlateError

PLAIN, PRIVATE, HANGING, CLOCK = "plain", "private", "hanging", "clock"
SHM_SIZE, TMP_SIZE = "512m", "256m"
"""As docs/docker.md has them, and little more than a service writes."""
READY = "ready"
HOLD = """
mount -t tmpfs -o mode=1777,size="$1" tmpfs "$2" &&
mount -t tmpfs -o mode=1777,size="$3" tmpfs "$4" &&
echo ready && exec sleep infinity
"""
LIBRARIES = ("/usr/lib/*/faketime/libfaketimeMT.so.1", "/usr/lib64/faketime/libfaketimeMT.so.1")
OFFSET_FILE = "FAKETIME_TIMESTAMP_FILE"
OFFSET, NO_OFFSET = "+3600", "+0"


class CannotBeMadeError(PlateError):
    """A fault that this machine does not let us make."""


@contextmanager
def plain() -> Iterator[Way]:
    """As an operator starts it."""
    yield Way()


@contextmanager
def private() -> Iterator[Way]:
    """With 512 MB of /dev/shm and a small TMPDIR that nobody else sees.

    Raises:
        CannotBeMadeError: This user may not mount.
    """
    with TemporaryDirectory(prefix="faults-tmp-") as tmp, _mounts(tmp) as holder:
        entry = ("nsenter", f"--mount=/proc/{holder}/ns/mnt", "--")
        root, audit = Path(f"/proc/{holder}/root"), Path(tmp, "audit.jsonl")
        yield Way(entry, tmp=Path(tmp), root=root, audit=audit)


@contextmanager
def _mounts(tmp: str) -> Iterator[int]:
    """Give a process whose mounts are its own."""
    if not all(map(shutil.which, ("unshare", "nsenter", "mount"))):
        raise CannotBeMadeError("there is no unshare, nsenter or mount")
    shell = ("sh", "-c", HOLD, "sh", SHM_SIZE, str(SHM), TMP_SIZE, tmp)
    holder = subprocess.Popen(
        ["unshare", "--mount", *shell],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    try:
        assert holder.stdout is not None
        said = holder.stdout.readline().strip()
        if said != READY:
            raise CannotBeMadeError(f"no mounts of its own, which root may have: {said}")
        yield holder.pid
    finally:
        holder.kill()
        holder.communicate()


@contextmanager
def hanging() -> Iterator[Way]:
    """With a model that works for ever on one picture."""
    with hanging_repository() as models:
        yield Way(flags=("--model-repository", models))


@contextmanager
def clock(libraries: tuple[str, ...] = LIBRARIES) -> Iterator[Way]:
    """With a wall clock that can be told to jump.

    Raises:
        CannotBeMadeError: libfaketime is not installed.
    """
    found = [file for one in libraries for file in Path("/").glob(one.removeprefix("/"))]
    if not found:
        raise CannotBeMadeError("there is no libfaketime: Debian's package libfaketime")
    with TemporaryDirectory(prefix="faults-clock-") as folder:
        yield Way(variables=_fake_time(found[0], Path(folder, "offset")))


def _fake_time(library: Path, offset: Path) -> Mapping[str, str]:
    offset.write_text(NO_OFFSET)
    return {
        "LD_PRELOAD": str(library),
        OFFSET_FILE: str(offset),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }


SETTINGS: Mapping[str, Callable[[], AbstractContextManager[Way]]] = {
    PLAIN: plain,
    PRIVATE: private,
    HANGING: hanging,
    CLOCK: clock,
}
