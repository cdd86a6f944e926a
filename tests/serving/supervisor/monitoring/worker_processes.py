"""Children of a test's own process that stand in for a server's workers."""

import os
import subprocess
import sys

from orchestrator.serving.supervisor.monitoring.workers import PROGRAM

ARGUMENTS = ["shm", "1", "1", "1", "/backends", "stn_0_0", "DEFAULT"]
"""Arguments of a worker; `python -c code` takes as many places before them as its real program."""


def start_worker(code: str, **variables: str) -> subprocess.Popen:
    """Start a child that looks like a worker and then runs code; nobody waits for its end."""
    named_code = f"open('/proc/self/comm', 'w').write('{PROGRAM}')\n{code}"
    line = [sys.executable, "-c", named_code, *ARGUMENTS]
    return subprocess.Popen(line, env={**os.environ, **variables}, stdout=subprocess.PIPE)
