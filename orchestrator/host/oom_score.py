"""Sets which process the kernel kills first when memory runs out.

The supervisor and the gateway keep their scores. Triton is killed before them, and its workers
before Triton. A killed worker is replaced within seconds, and no client sees an error.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

STEP = 450
"""Increase of the score, in thousandths of the memory. Two steps weigh more than a gateway that
uses most of the memory."""
MAX_SCORE = 1000
PROC = Path("/proc")


def raise_score(process: int | str = "self", proc: Path = PROC) -> None:
    """Let the kernel kill a process, and those that it starts later, before its parent.

    The step is added to any adjustment that a container has of its own. Every user may raise the
    score of their own processes. A kernel without these scores is left unchanged.

    Args:
        process: Its process id, or "self".
        proc: Folder of the kernel's files.

    Source: Linux, "proc_pid_oom_score_adj(5)".
    """
    file = proc / str(process) / "oom_score_adj"
    with suppress(OSError, ValueError):
        file.write_text(str(min(MAX_SCORE, int(file.read_text()) + STEP)))
