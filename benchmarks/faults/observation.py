"""A fault made under load, watched until the service has recovered."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.faults.callers import Load
from benchmarks.faults.report import Effect, Observation, Promise
from benchmarks.faults.service import Service

BEFORE_S = 3.0
QUIET_S = 1.0
"""Without a failure and with every caller answered: then it is over."""
PATIENCE_S = 15.0
"""Over what was promised, until one does not wait for its recovery any longer."""
LOOK_S = 0.1


@dataclass(frozen=True)
class Stage:
    """A service, and the callers that are at work."""

    service: Service
    load: Load


Act = Callable[[Stage], Effect]
"""Makes a fault and, where it lasts, ends it."""


@dataclass(frozen=True)
class Fault:
    """Something that breaks.

    Attributes:
        name: For the command line.
        title: For the table.
        setting: Name of how the service is started for it.
    """

    name: str
    title: str
    setting: str
    promise: Promise
    act: Act


def observe(fault: Fault, service: Service, load: Load) -> Observation:
    """Make a fault happen under load, and watch until all is as it was or patience is over."""
    load_began = time.monotonic()
    with load.run():
        time.sleep(BEFORE_S)
        began = time.monotonic()
        effect = fault.act(Stage(service, load))
        patience_s = (fault.promise.recover_s or 0) + PATIENCE_S
        whole = None if effect.is_end else _wait(service, load, effect, patience_s)
    return Observation(fault.title, load.count, load.calls, load_began, began, whole, effect)


def _wait(service: Service, load: Load, effect: Effect, patience_s: float) -> float | None:
    """Return when every process was there, once the callers are served again, too."""
    whole: float | None = None
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline and service.is_running():
        now = time.monotonic()
        if not service.is_whole(effect.victims):
            whole = None
        elif whole is None:
            whole = now
        if whole is not None and load.is_steady(max(whole, effect.since), QUIET_S):
            return whole
        time.sleep(LOOK_S)
    return None
