"""Where the tensors between the models lie: told to the server's log when asked to, for a check.

With `PLATES_TRACE_PLACEMENT` in the environment of the server each tensor of each call to another
model is told twice, by the caller and by the worker that runs the model: Triton may have moved it
in between.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import NamedTuple

VARIABLE = "PLATES_TRACE_PLACEMENT"
IS_TRACED = bool(os.environ.get(VARIABLE))
CALLER, WORKER = "caller", "worker"
LINE = re.compile(r"^placement (\w+) (\w+) (\w+) (\S+)$", re.MULTILINE)


class Placement(NamedTuple):
    """Where one tensor was, as PyTorch names devices: `cpu`, `cuda:0`."""

    model: str
    seen_by: str
    tensor: str
    device: str


def tell(model: str, seen_by: str, tensor: str, device: object) -> None:
    """Write a line to the server's log, past its filter and in one piece."""
    os.write(2, f"placement {model} {seen_by} {tensor} {device}\n".encode())


def parse(log: Iterable[str]) -> list[Placement]:
    """Find what was told among the lines of a log."""
    return [Placement(*found) for line in log for found in LINE.findall(line)]
