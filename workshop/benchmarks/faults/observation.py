"""Makes a fault under load and watches the service until it has recovered."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from workshop.benchmarks.faults.report import Effect, Observation, Promise
from workshop.benchmarks.load.closed_loop import Load
from workshop.benchmarks.service import Service

BEFORE_S = 3.0
QUIET_S = 1.0
"""Recovery is over after this time without a failure, with every caller answered."""
PATIENCE_S = 15.0
"""The watch for recovery ends this long after the promised recovery time."""
LOOK_S = 0.1


@dataclass(frozen=True)
class Target:
    """A service, and the load of its callers."""

    service: Service
    load: Load


Act = Callable[[Target], Effect]
"""Makes a fault, and ends it if it lasts."""


@dataclass(frozen=True)
class Fault:
    """A fault that is made on purpose."""

    name: str
    title: str
    setting: str
    promise: Promise
    act: Act


def observe(fault: Fault, service: Service, load: Load, before_s: float = BEFORE_S) -> Observation:
    """Make a fault under load, and watch until the service has recovered or time is up."""
    load_began = time.monotonic()
    with load.run():
        time.sleep(before_s)
        began = time.monotonic()
        effect = fault.act(Target(service, load))
        patience_s = (fault.promise.recover_s or 0) + PATIENCE_S
        whole = None if effect.is_end else _wait(service, load, effect, patience_s)
    return Observation(fault.title, load.count, load.calls, load_began, began, whole, effect)


def _wait(service: Service, load: Load, effect: Effect, patience_s: float) -> float | None:
    """Wait until the callers are served again; return when every process was back."""
    whole: float | None = None
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline and service.is_running():
        now = time.monotonic()
        if not service.is_whole(effect.victims):
            whole = None
        elif whole is None:
            whole = now
        if whole is not None and is_steady(load, max(whole, effect.since)):
            return whole
        time.sleep(LOOK_S)
    return None


def is_steady(load: Load, since: float) -> bool:
    """Tell whether all callers were answered since a moment, and none failed for `QUIET_S`."""
    now, calls = time.monotonic(), [*load.calls]
    recent = [call for call in calls if call.ended >= now - QUIET_S]
    if now < since + QUIET_S or not all(call.is_answered for call in recent):
        return False
    served = [call.protocol for call in recent if call.began >= since]
    return all(served.count(protocol) >= load.each for protocol in load.connect)
