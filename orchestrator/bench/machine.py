"""What machine and software a run was measured on."""

from __future__ import annotations

import os
import platform
from contextlib import suppress
from importlib import metadata
from pathlib import Path

import torch

from orchestrator.bench.figures import Figures

PROC = Path("/proc")
PACKAGES = ("torch", "openvino", "numpy", "opencv-python-headless")


def describe(triton_version: str, proc: Path = PROC) -> Figures:
    """Return what is known about the machine; packages that are not installed are left out."""
    return {
        "cpu": _after(proc / "cpuinfo", "model name") or platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": 1024 * int(_after(proc / "meminfo", "MemTotal").partition(" ")[0] or 0),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "system": platform.platform(),
        "python": platform.python_version(),
        "triton": triton_version or None,
        **_versions(),
    }


def _after(path: Path, name: str) -> str:
    """Return the value of the first line `name: value`."""
    with suppress(OSError):
        for line in path.read_text(errors="replace").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == name:
                return value.strip()
    return ""


def _versions() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            found[package] = metadata.version(package)
    return found
