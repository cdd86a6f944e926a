"""The administrators' key, which Triton takes on its command line alone, kept from who can read it.

Everybody on a machine may read every process's command line.
"""

from __future__ import annotations

import logging
import os
import secrets
import subprocess
import time
from pathlib import Path

PROC = Path("/proc")
ARGUMENTS = slice(45, 47)  # of the fields after a process's name: where its arguments lie
PARSED_WITHIN_S = 30.0
PAUSE_S = 0.002

logger = logging.getLogger(__name__)


def hide(process: subprocess.Popen[str], key: str) -> None:
    """Overwrite the key on a server's command line, in its memory, once it has been read there.

    Triton has read it before it starts its first thread. Until then, for some 10 ms after the
    start, and longer where the program is read from a slow disk, the key can be seen by who looks
    at that very moment. Where the kernel allows no such write it stays: a warning says so.
    """
    deadline = time.monotonic() + PARSED_WITHIN_S
    try:
        while not _is_parsed(process.pid):
            if process.poll() is not None:
                return
            if time.monotonic() > deadline:
                raise TimeoutError(0, "Triton has not begun to work")
            time.sleep(PAUSE_S)
        _overwrite(PROC / str(process.pid), key.encode())
    except OSError as error:
        if process.poll() is None:
            logger.warning(
                "the administrators' key can be seen on Triton's command line by everybody on "
                "this machine: it cannot be overwritten (%s)",
                error.strerror,
            )


def _is_parsed(pid: int) -> bool:
    return len(os.listdir(PROC / str(pid) / "task")) > 1  # noqa: PTH208 - names are enough


def _overwrite(process: Path, key: bytes) -> None:
    fields = (process / "stat").read_text(errors="replace").rpartition(")")[2].split()
    begin, end = map(int, fields[ARGUMENTS])
    # No constant: were it read only now, against all we know, everybody would know the key.
    blind = secrets.token_hex(len(key))[: len(key)].encode()
    with (process / "mem").open("r+b", buffering=0) as memory:
        memory.seek(begin)
        found = memory.read(end - begin)
        memory.seek(begin)
        memory.write(found.replace(key, blind))
