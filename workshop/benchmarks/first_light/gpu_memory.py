"""Watches how much memory of a GPU all processes use together, as `nvidia-smi` tells it."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

PROGRAM = "nvidia-smi"
QUERY = ("--query-gpu=memory.used", "--format=csv,noheader,nounits")
LOOK_S = 0.5


@dataclass
class GpuMemory:
    """The highest memory use that was seen, in MiB; None where no GPU can be asked."""

    peak_mib: int | None = None

    def look(self) -> None:
        """Ask for the memory in use now."""
        gpu = os.environ.get("CUDA_VISIBLE_DEVICES", "0").partition(",")[0]
        line = [PROGRAM, f"--id={gpu}", *QUERY]
        done = subprocess.run(line, capture_output=True, text=True, check=False)
        used = done.stdout.strip()
        if not done.returncode and used.isdecimal():
            self.peak_mib = max(self.peak_mib or 0, int(used))


@contextmanager
def watch_gpu_memory() -> Iterator[GpuMemory]:
    """Watch the memory for the length of a `with` block."""
    memory, is_over = GpuMemory(), threading.Event()

    def watch() -> None:
        while not is_over.is_set():
            memory.look()
            is_over.wait(LOOK_S)

    if shutil.which(PROGRAM) is None:
        yield memory
        return
    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield memory
    finally:
        is_over.set()
        thread.join()
