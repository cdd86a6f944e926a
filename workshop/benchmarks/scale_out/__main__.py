"""Kills, restarts and adds replicas behind a balancer, and measures the effect on callers.

    python -m workshop.benchmarks.scale_out --json reports/scale-out.json

The replicas are real `plates serve` processes, each on its share of the cores. A real HAProxy with
the shipped `deploy/haproxy.cfg` is in front of them. Callers use `PlateClient` over HTTP and gRPC,
and check every answer. A run takes about four minutes; docs/why/scaling.md explains it.

Exit codes: 0 no call was lost, 1 a call was lost, 2 the run failed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path

from orchestrator.errors import PlateError
from workshop.benchmarks.plan import parse_numbers
from workshop.benchmarks.scale_out import balancer, replicas
from workshop.benchmarks.scale_out.callers import Known, known_pictures, open_load
from workshop.benchmarks.scale_out.incidents import INCIDENTS, Fleet, observe
from workshop.benchmarks.scale_out.report import (
    Impact,
    ScaleOutReport,
    compare_routes,
    compare_scales,
    find_impacts,
)
from workshop.benchmarks.scale_out.scaling import Options, measure_cost, measure_scales
from workshop.benchmarks.scale_out.text import format_report
from workshop.reporting.files import explain_write_errors, prepare_folder, write_report
from workshop.reporting.machine import describe_machine


def run(options: Options) -> ScaleOutReport:
    """Measure incidents, scaling and the cost of the balancer."""
    pictures = known_pictures()
    balancer.find_program()  # fails early, before the slow start of the replicas
    with replicas.run_replicas(max(options.replicas), options.cores) as started:
        listening = {replica.name: replica.gateway for replica in started}
        with balancer.run_balancer(listening) as balancing:
            fleet = Fleet(started, balancing)
            fleet.wait_until_up()
            return _measure(fleet, pictures, options)


def _measure(fleet: Fleet, pictures: Sequence[Known], options: Options) -> ScaleOutReport:
    impacts: list[Impact] = []
    for name in INCIDENTS:
        load = open_load(fleet.balancer.urls, options.callers, pictures, options.retries)
        impacts += find_impacts(observe(name, fleet, load, options.margin))
        print(f"{name}: done", file=sys.stderr)
    scales = measure_scales(fleet, pictures, options)
    routes = measure_cost(fleet, pictures[0], options.rounds)
    return ScaleOutReport(
        machine=describe_machine(),
        options=options,
        impacts=tuple(impacts),
        scales=tuple(compare_scales(scales)),
        costs=tuple(compare_routes(routes)),
    )


def parse(arguments: Sequence[str]) -> tuple[Options, Path | None]:
    """Parse the command line: the options, and the file for every figure."""
    parser = argparse.ArgumentParser(prog="python -m workshop.benchmarks.scale_out")
    for field in fields(Options):
        is_list = isinstance(field.default, tuple)
        kind = partial(parse_numbers, name=field.name) if is_list else type(field.default)
        parser.add_argument(f"--{field.name}", type=kind, default=field.default, **field.metadata)
    parser.add_argument("--json", type=Path, help="file for every figure")
    found = vars(parser.parse_args(arguments))
    path = found.pop("json")
    return Options(**found), path


def main() -> int:
    """Parse the command line, run, print and write; return the exit code."""
    try:
        options, path = parse(sys.argv[1:])
        if path:
            prepare_folder(path.parent)
        report = run(options)
        print(format_report(report))
        if path:
            with explain_write_errors(path.parent):
                write_report(report, path)
    except PlateError as error:
        print(f"scale-out: {error}", file=sys.stderr)
        return 2
    return 1 if report.lost else 0


if __name__ == "__main__":
    raise SystemExit(main())
