"""Which process the kernel kills first where memory runs out.

The supervisor and the gateway stay as they are. Triton is killed before them, and its workers
before Triton: a worker that was killed is replaced within seconds, and no caller sees an error.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

STEP = 450
"""In thousandths of the memory. Two steps count more than a gateway that has most of it."""
MOST = 1000
PROC = Path("/proc")


def raise_score(process: int | str = "self", proc: Path = PROC) -> None:
    """Let the kernel kill a process, and those that it starts later, before its parent.

    A container may have an adjustment of its own: the step is added to it. Everybody may raise
    that of their own processes. Where the kernel has none, nothing happens.

    Args:
        process: Its number, or "self".
        proc: Where the kernel's files are.

    Source: Linux, "proc_pid_oom_score_adj(5)".
    """
    file = proc / str(process) / "oom_score_adj"
    with suppress(OSError, ValueError):
        file.write_text(str(min(MOST, int(file.read_text()) + STEP)))
