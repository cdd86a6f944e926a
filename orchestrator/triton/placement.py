"""Logs the devices of the tensors between models, on request, for a check.

This needs `PLATES_TRACE_PLACEMENT` in the environment of the server. Then each tensor of each call
to another model is logged twice: by the caller, and by the worker that runs the model. Triton may
have moved the tensor in between.
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
    """The device of one tensor, with its name in PyTorch: `cpu`, `cuda:0`."""

    model: str
    seen_by: str
    tensor: str
    device: str


def log_device(model: str, seen_by: str, tensor: str, device: object) -> None:
    """Write a complete line to the server's log; Triton's log filter does not apply."""
    os.write(2, f"placement {model} {seen_by} {tensor} {device}\n".encode())


def parse(log: Iterable[str]) -> list[Placement]:
    """Return the placements in the lines of a log."""
    return [Placement(*fields) for line in log for fields in LINE.findall(line)]
