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
from workshop.benchmarks.faults.culprits import ask
from workshop.benchmarks.faults.marker import draw_marker
from workshop.benchmarks.faults.observation import Stage
from workshop.benchmarks.faults.report import Effect
from workshop.benchmarks.faults.wires import Request, over_kserve
from workshop.benchmarks.pictures import Picture
from workshop.benchmarks.plan import HTTP_RAW

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


def ask_for_ever() -> Request:
    """Return the request that hangs a worker."""
    return over_kserve(Picture("marker", b"", draw_marker()), HTTP_RAW)


def hang(stage: Stage) -> Effect:
    """Send the call that hangs a worker, and send it again after its result."""
    request, gateway = ask_for_ever(), stage.service.gateway
    since = time.monotonic()
    first, second = ask(gateway, request), ask(gateway, request)
    failures = []
    if not first.is_refused or first.seconds > TOLD_WITHIN_S:
        failures.append("who hung it was not told")
    if not second.is_refused or second.seconds > AT_ONCE_S:
        failures.append("who hung it was let in again")
    notes = (f"the call that hung: {first}", f"the same again: {second}")
    return Effect(since, notes=notes, failures=tuple(failures))
