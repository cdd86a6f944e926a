"""Python code that a test runs in a process of its own."""

import subprocess
import sys
from typing import Any


def run_python(
    code: str, *, check: bool = True, **options: Any
) -> "subprocess.CompletedProcess[str]":
    """Run code to its end; return its status and what it printed."""
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=check, **options
    )
