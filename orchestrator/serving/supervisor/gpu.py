"""Finds out in a child process whether PyTorch can use a GPU here, and why not.

A child, because a CUDA context takes some 500 MB, and a driver that does not fit may end the
process that tries it.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from pathlib import Path

logger = logging.getLogger(__name__)

DEVICES = Path("/dev")
VISIBLE = "CUDA_VISIBLE_DEVICES"
TIMEOUT_S = 60.0
"""The first context of a GPU takes seconds, with many GPUs some ten."""
USE = """
import ctypes, torch
ctypes.CDLL("libcuda.so")
torch.zeros(1, device="cuda").item()
"""
"""A worker needs both: Triton's Python backend opens this library, by this name."""


def has_gpu() -> bool:
    """Tell whether there is a GPU that PyTorch can use; a warning says why one cannot be used."""
    if not _may_have_gpu():
        return False
    reason = explain_no_gpu()
    if reason:
        _warn(reason)
    return not reason


@cache
def explain_no_gpu(code: str = USE) -> str:
    """Return on one line why no GPU can be used; nothing if one can.

    Args:
        code: The Python program that uses it.
    """
    try:
        child = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=TIMEOUT_S,
            check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"its first use took more than {TIMEOUT_S:.0f} s"
    if not child.returncode:
        return ""
    lines = child.stderr.strip().splitlines()
    return lines[-1] if lines else f"its first use ended with exit status {child.returncode}"


def choose_gpu(environment: Mapping[str, str]) -> dict[str, str]:
    """Return variables that leave one GPU to a server, the first of several.

    Otherwise models that call each other would lie on different GPUs. An operator starts a server
    for each GPU, with the variable set.

    Args:
        environment: The environment of this process.
    """
    if VISIBLE in environment or len(_list_devices()) < 2:
        return {}
    logger.warning("there are several GPUs, and this server uses the first; %s chooses", VISIBLE)
    return {VISIBLE: "0"}


@cache
def _warn(reason: str) -> None:
    """Warn of a reason once in a process."""
    logger.warning("the GPU cannot be used, so the CPU is: %s", reason)


def _may_have_gpu() -> bool:
    is_cpu_build = metadata.version("torch").endswith("+cpu")
    is_hidden = os.environ.get(VISIBLE) in ("", "-1")
    return not is_cpu_build and not is_hidden and bool(_list_devices())


def _list_devices() -> list[Path]:
    return [*DEVICES.glob("nvidia[0-9]*")]
