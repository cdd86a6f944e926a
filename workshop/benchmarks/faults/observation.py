"""Makes faults under load, one after another, and watches the service until it has recovered."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path

from orchestrator.errors import PlateError
from workshop.benchmarks.faults.callers import TIMEOUT_S, Answers, Requests, open_load, take_answers
from workshop.benchmarks.faults.report import Effect, Observation, Promise, Row, judge
from workshop.benchmarks.faults.settings import SETTINGS, CannotBeMadeError
from workshop.benchmarks.load.closed_loop import Load
from workshop.benchmarks.load.connections import Connection
from workshop.benchmarks.service import Service, run_service

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
    protocols = [call.protocol for call in recent if call.began >= since]
    return all(protocols.count(protocol) >= load.each for protocol in load.connect)


class Harness:
    """Makes faults one after another. The first service gives the right answers."""

    def __init__(
        self, requests: Requests, each: int, logs: Path | None = None, before_s: float = BEFORE_S
    ) -> None:
        self._requests, self._each = requests, each
        self._logs, self._before_s = logs, before_s
        self._answers: Answers | None = None

    def make(self, faults: Sequence[Fault]) -> Iterator[Row]:
        """Make faults. Each kind of service is started once, and again when it does not recover.

        If the service cannot be started, the rows say why.
        """
        for setting, faults_of_setting in groupby(faults, lambda fault: fault.setting):
            group = [*faults_of_setting]
            try:
                with SETTINGS[setting]() as launch, run_service(launch) as service:
                    while group:
                        row = self._make(group[0], service)
                        self._keep_log(group.pop(0), service)
                        yield row
            except CannotBeMadeError as error:
                yield from (Row(fault.title, skipped=str(error)) for fault in group)
            except PlateError as error:
                yield from (Row(fault.title, broken=(str(error),)) for fault in group)

    def _make(self, fault: Fault, service: Service) -> Row:
        if not (service.is_whole() and service.is_ready()):
            service.restart()
        gateway = service.gateway
        connect = partial(Connection, gateway.http, gateway.grpc, TIMEOUT_S)
        if self._answers is None:
            with closing(connect()) as connection:
                self._answers = take_answers(self._requests, connection)
        load = open_load(self._requests, self._answers, connect, self._each)
        try:
            return judge(observe(fault, service, load, self._before_s), fault.promise)
        except (PlateError, OSError, LookupError) as error:  # also when a process does not exist
            return Row(fault.title, load.count, broken=(str(error) or type(error).__name__,))

    def _keep_log(self, fault: Fault, service: Service) -> None:
        """Copy the log of the service so far."""
        if self._logs:
            self._logs.mkdir(parents=True, exist_ok=True)
            shutil.copy(service.log, self._logs / f"{fault.name}.log")
