"""Hides Triton's keys, which it takes only on its command line.

Every user of a machine can read the command lines of all processes.
"""

from __future__ import annotations

import logging
import os
import secrets
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path

PROC = Path("/proc")
ARGUMENTS = slice(45, 47)  # fields after a process's name: where its arguments are
PARSED_WITHIN_S = 30.0
PAUSE_S = 0.002

logger = logging.getLogger(__name__)


def hide(process: subprocess.Popen[str], keys: Iterable[str]) -> None:
    """Overwrite keys on a server's command line, in its memory, after the server has read them.

    Triton reads them before it starts its first thread. Until then, another user can see a key.
    This takes about 10 ms after the start, and longer when the program is read from a slow disk. If
    the kernel forbids the write, the keys stay visible, and a warning says so.
    """
    deadline = time.monotonic() + PARSED_WITHIN_S
    try:
        while not _is_parsed(process.pid):
            if process.poll() is not None:
                return
            if time.monotonic() > deadline:
                raise TimeoutError(0, "Triton has not begun to work")
            time.sleep(PAUSE_S)
        _overwrite(PROC / str(process.pid), [key.encode() for key in keys if key])
    except OSError as error:
        if process.poll() is None:
            logger.warning(
                "everybody on this machine can see the keys on Triton's command line: "
                "they cannot be overwritten (%s)",
                error.strerror,
            )


def _is_parsed(pid: int) -> bool:
    return len(os.listdir(PROC / str(pid) / "task")) > 1  # noqa: PTH208 - names are enough


def _overwrite(process: Path, keys: Iterable[bytes]) -> None:
    fields = (process / "stat").read_text(errors="replace").rpartition(")")[2].split()
    begin, end = map(int, fields[ARGUMENTS])
    with (process / "mem").open("r+b", buffering=0) as memory:
        memory.seek(begin)
        line = memory.read(end - begin)
        for key in keys:
            # Not a constant: if Triton read the line only now, the constant would be a known key.
            line = line.replace(key, secrets.token_hex(len(key))[: len(key)].encode())
        memory.seek(begin)
        memory.write(line)
