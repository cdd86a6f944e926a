"""Injects faults into a real service under load and measures their effect on the callers.

    python -m workshop.benchmarks.faults --json reports/faults.json --page docs/reliability.md

Callers of every protocol call without a pause and without retries, each with another picture. They
compare each answer with the one that the picture got alone. docs/reliability.md explains the table.

Exit codes: 0 every promise was kept, 1 a promise was broken, 2 the run failed, 3 it was ended by
SIGTERM.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import datetime, timezone
from functools import partial
from itertools import groupby
from pathlib import Path

from orchestrator.errors import PlateError, SettingsError
from orchestrator.serving.supervisor.local_server import prepare
from orchestrator.serving.supervisor.options import ServerOptions
from workshop.benchmarks.faults.callers import (
    TIMEOUT_S,
    Answers,
    Requests,
    build_requests,
    open_load,
    take_answers,
)
from workshop.benchmarks.faults.observation import BEFORE_S, Fault, observe
from workshop.benchmarks.faults.page import format_notes, format_rows, write_page
from workshop.benchmarks.faults.pictures import render_crops, render_pictures
from workshop.benchmarks.faults.registry import FAULTS
from workshop.benchmarks.faults.report import FaultsReport, Row, judge
from workshop.benchmarks.faults.settings import SETTINGS, CannotBeMadeError
from workshop.benchmarks.load.connections import Connection
from workshop.benchmarks.service import Service, run_service
from workshop.reporting.files import explain_write_errors, prepare_folder, write_report
from workshop.reporting.machine import describe_machine

PICTURES = 48
EACH = 2


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


def choose(names: Sequence[str]) -> list[Fault]:
    """Return the faults with these names, or all faults when there are no names."""
    known = {fault.name: fault for fault in FAULTS}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise SettingsError(f"only: wanted some of {', '.join(known)}, got {unknown[0]}")
    return [fault for fault in FAULTS if not names or fault.name in names]


def run(faults: Sequence[Fault], harness: Harness) -> FaultsReport:
    """Make faults and print the result of each as soon as it is over."""
    began = time.monotonic()
    prepare(ServerOptions(device="cpu"))
    rows = []
    for row in harness.make(faults):
        rows.append(row)
        verdict = row.skipped or "; ".join(row.broken) or "kept"
        print(f"{time.monotonic() - began:4.0f} s  {row.fault}: {verdict}", file=sys.stderr)
    today = datetime.now(timezone.utc).date().isoformat()
    return FaultsReport(today, time.monotonic() - began, describe_machine(), tuple(rows))


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m workshop.benchmarks.faults")
    parser.add_argument("--only", action="append", default=[], help="a fault's name; repeatable")
    parser.add_argument("--each", type=int, default=EACH, help="callers of each protocol")
    parser.add_argument("--json", type=Path, help="file for every figure")
    parser.add_argument("--page", type=Path, help="page that shows the table between its marks")
    parser.add_argument("--logs", type=Path, help="folder for what the services said")
    return parser.parse_args(arguments)


def main() -> int:
    """Parse the command line, run, print and write; return the exit code."""
    options = parse(sys.argv[1:])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))  # services are stopped on exit
    try:
        faults = choose(options.only)
        if options.json:
            prepare_folder(options.json.parent)
        requests = build_requests(render_pictures(PICTURES), render_crops(PICTURES))
        report = run(faults, Harness(requests, options.each, options.logs))
        print(format_rows(report))
        print("\n".join(format_notes(report)))
        if options.json:
            with explain_write_errors(options.json.parent):
                write_report(report, options.json)
        if options.page:
            write_page(options.page, report)
    except PlateError as error:
        print(f"faults: {error}", file=sys.stderr)
        return 2
    return 0 if report.is_kept else 1


if __name__ == "__main__":
    raise SystemExit(main())
