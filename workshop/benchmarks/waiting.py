"""Waits until a condition is true."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from orchestrator.contract import MODEL
from orchestrator.errors import ServerError
from orchestrator.system.probe import ProbeError, probe

LOOK_S = 0.05
READY_TIMEOUT_S = 1.0


def wait(
    is_so: Callable[[], bool],
    wanted: str,
    timeout_s: float = 60.0,
    *,
    process: subprocess.Popen[bytes] | None = None,
    log: Path | None = None,
) -> None:
    """Wait until a condition is true."""
    deadline = time.monotonic() + timeout_s
    while not is_so():
        is_over = process is not None and process.poll() is not None
        if is_over or time.monotonic() > deadline:
            got = "its end" if is_over else "no change"
            lines = log.read_text(errors="replace").splitlines() if log else []
            said = f"; {lines[-1]}" if lines else ""
            raise ServerError(f"wanted {wanted} within {timeout_s:.0f} s, got {got}{said}")
        time.sleep(LOOK_S)


def reads_plates(gateway: object) -> bool:
    """Tell whether the gateway at `host:port` read a plate lately, and its model is ready now."""
    try:
        for path in ("readyz", f"v2/models/{MODEL}/ready"):
            probe(f"{gateway}/{path}", READY_TIMEOUT_S)
    except ProbeError:
        return False
    return True
