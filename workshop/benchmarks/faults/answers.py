"""Sends thousands of concurrent calls while workers are killed, and compares each answer.

    python -m workshop.benchmarks.faults.answers --calls 10000

The calls go through the gateway over HTTP, gRPC and REST.
Before that, the service without load gives the right answer to each picture, one by one.

Exit codes: 0 no answer was wrong and the gateway answered every call, 1 otherwise, 2 the run
failed, 3 it was ended by SIGTERM.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from orchestrator.errors import PlateError
from orchestrator.supervisor.local_server import prepare
from orchestrator.supervisor.options import ServerOptions
from workshop.benchmarks.faults.callers import (
    TIMEOUT_S,
    build_requests,
    open_load,
    take_answers,
)
from workshop.benchmarks.faults.killing import PAUSE_S, Killer
from workshop.benchmarks.faults.page import COUNTS, format_counts
from workshop.benchmarks.faults.pictures import render_crops, render_pictures
from workshop.benchmarks.faults.report import Counts, name_failures
from workshop.benchmarks.faults.service import Service, run_service
from workshop.benchmarks.load.closed_loop import Call, Load
from workshop.benchmarks.load.connections import Connection
from workshop.reporting.files import explain_write_errors, prepare_folder, write_report
from workshop.reporting.machine import Machine, describe_machine
from workshop.reporting.tables import format_markdown


@dataclass(frozen=True)
class Options:
    """The options of a run.

    Attributes:
        calls: The number of calls of all callers together.
        pictures: The number of different pictures.
        each: The number of callers of each protocol.
        pause_s: Seconds between two kills; no worker is killed when 0.
    """

    calls: int = field(default=10_000, metadata={"help": "all together"})
    pictures: int = field(default=200, metadata={"help": "different ones"})
    each: int = field(default=3, metadata={"help": "callers of each protocol"})
    pause_s: float = field(default=PAUSE_S, metadata={"help": "between kills; none when 0"})


@dataclass(frozen=True)
class AnswersReport:
    """The results of a run.

    Attributes:
        counts: The results of the calls, by protocol.
        killed: The number of killed workers, by model.
        failures: The first call of each kind of failure.
    """

    machine: Machine
    options: Options
    seconds: float
    counts: Mapping[str, Counts]
    killed: Mapping[str, int]
    failures: tuple[str, ...]

    @property
    def is_kept(self) -> bool:
        """True when every call was answered and no answer is wrong."""
        return all(not one.wrong and one.answered == one.sent for one in self.counts.values())


def run(options: Options) -> AnswersReport:
    """Start a service, record the right answers, then call while its workers are killed.

    Raises:
        PlateError: The service cannot be started, or answers wrongly without load.
    """
    prepare(ServerOptions(device="cpu"))
    pictures, crops = render_pictures(options.pictures), render_crops(options.pictures)
    with run_service() as service:
        gateway, requests = service.gateway, build_requests(pictures, crops)
        connection = partial(Connection, gateway.http, gateway.grpc, TIMEOUT_S)
        with closing(connection()) as opened:
            answers = take_answers(requests, opened)
        load = open_load(requests, answers, connection, options.each, options.calls)
        began = time.monotonic()
        killed = call_while_killing(service, load, options.pause_s)
        seconds = time.monotonic() - began
    return AnswersReport(
        machine=describe_machine(),
        options=options,
        seconds=seconds,
        counts=count_by_protocol(load.calls),
        killed=killed,
        failures=tuple(name_failures(load.calls)),
    )


def call_while_killing(service: Service, load: Load, pause_s: float) -> Mapping[str, int]:
    """Run the callers until all calls are sent; return the number of killed workers, by model."""
    killer = Killer(service, pause_s)
    with load.run(), killer.run():
        load.wait()
    return dict(Counter(model for model, _ in killer.killed))


def count_by_protocol(calls: Sequence[Call]) -> Mapping[str, Counts]:
    """Return the results of the calls of each protocol."""
    protocols = dict.fromkeys(call.protocol for call in calls)
    return {one: Counts.of([call for call in calls if call.protocol == one]) for one in protocols}


def format_report(report: AnswersReport) -> str:
    """Return the text that is printed about a run."""
    rows = [(name, *format_counts(one)) for name, one in sorted(report.counts.items())]
    killed = ", ".join(f"{count} of {model}" for model, count in sorted(report.killed.items()))
    lines = (
        format_markdown(("protocol", *COUNTS), rows),
        f"{sum(report.killed.values())} workers killed in {report.seconds:.0f} s: {killed or '-'}",
        *report.failures,
    )
    return "\n".join(lines)


def parse(arguments: Sequence[str]) -> tuple[Options, Path | None]:
    """Parse the command line: the options, and the file for every figure."""
    parser = argparse.ArgumentParser(prog="python -m workshop.benchmarks.faults.answers")
    for name, option in Options.__dataclass_fields__.items():
        kind = type(option.default)
        flag = f"--{name.replace('_', '-')}"
        parser.add_argument(flag, type=kind, default=option.default, **option.metadata)
    parser.add_argument("--json", type=Path, help="file for every figure")
    found = vars(parser.parse_args(arguments))
    path = found.pop("json")
    return Options(**found), path


def main() -> int:
    """Parse the command line, run, print and write; return the exit code."""
    options, path = parse(sys.argv[1:])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))  # the service is stopped on exit
    try:
        if path:
            prepare_folder(path.parent)
        report = run(options)
        print(format_report(report))
        if path:
            with explain_write_errors(path.parent):
                write_report(report, path)
    except PlateError as error:
        print(f"answers: {error}", file=sys.stderr)
        return 2
    return 0 if report.is_kept else 1


if __name__ == "__main__":
    raise SystemExit(main())
