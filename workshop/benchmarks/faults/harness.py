"""Makes faults one after another, each kind in a service that it needs."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import groupby
from pathlib import Path

from orchestrator.errors import PlateError
from workshop.benchmarks.faults.callers import (
    TIMEOUT_S,
    Answers,
    Requests,
    open_load,
    take_answers,
)
from workshop.benchmarks.faults.observation import BEFORE_S, Fault, observe
from workshop.benchmarks.faults.report import Row, judge
from workshop.benchmarks.faults.settings import SETTINGS, CannotBeMadeError
from workshop.benchmarks.load.connections import Connection
from workshop.benchmarks.service import Service, run_service


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
        for setting, several in groupby(faults, lambda fault: fault.setting):
            group = [*several]
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
        connection = partial(Connection, gateway.http, gateway.grpc, TIMEOUT_S)
        if self._answers is None:
            with closing(connection()) as opened:
                self._answers = take_answers(self._requests, opened)
        load = open_load(self._requests, self._answers, connection, self._each)
        try:
            return judge(observe(fault, service, load, self._before_s), fault.promise)
        except (PlateError, OSError, LookupError) as error:  # also when a process does not exist
            return Row(fault.title, load.count, broken=(str(error) or type(error).__name__,))

    def _keep_log(self, fault: Fault, service: Service) -> None:
        """Copy the log of the service so far."""
        if self._logs:
            self._logs.mkdir(parents=True, exist_ok=True)
            shutil.copy(service.log, self._logs / f"{fault.name}.log")
