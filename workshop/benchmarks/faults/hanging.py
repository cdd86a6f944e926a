"""Sends a call that hangs its worker: the worker never ends its work."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from orchestrator.contract import MODEL
from orchestrator.supervisor.plate_models import REPOSITORY
from workshop.benchmarks.faults.harmful_requests import send
from workshop.benchmarks.faults.marker import draw_marker
from workshop.benchmarks.faults.observation import Target
from workshop.benchmarks.faults.report import Effect
from workshop.benchmarks.load.requests import kserve_http, pixels

HANGING = Path(__file__).with_name("hanging_model.py")
TOLD_WITHIN_S = 10.0
"""The time limit for the error: two workers hang, each is found in 3 s and replaced in 2 s."""
AT_ONCE_S = 0.5


@contextmanager
def hanging_repository() -> Iterator[Path]:
    """Copy our models for the length of a `with` block; one of them hangs at the marker."""
    with TemporaryDirectory(prefix="faults-models-") as folder:
        target = Path(shutil.copytree(REPOSITORY, Path(folder, "models")))
        shutil.copy(HANGING, target / MODEL / "1" / "model.py")
        yield target


def hang(target: Target) -> Effect:
    """Send the call that hangs a worker, and send it again after its result."""
    request, address = kserve_http([pixels(draw_marker())]), target.service.gateway.http
    since = time.monotonic()
    first, second = send(address, request), send(address, request)
    failures = []
    if not first.is_refused or first.seconds > TOLD_WITHIN_S:
        failures.append("the hanging request got no error")
    if not second.is_refused or second.seconds > AT_ONCE_S:
        failures.append("the hanging request was admitted again")
    notes = (f"the call that hung: {first}", f"the same again: {second}")
    return Effect(since, notes=notes, failures=tuple(failures))
