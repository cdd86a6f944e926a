"""Replicas behind a balancer: lose one, restart all, add more, and see what the callers notice.

    python -m benchmarks.scale_out --json bench/scale_out.json

Real `plates serve` processes, each on its share of the cores, behind a real HAProxy with the
shipped `deploy/haproxy.cfg`. Callers go through `PlateClient`, over HTTP and gRPC, and check every
answer. Takes about four minutes; docs/scaling.md explains the tables.

Exit codes: 0 no call was lost, 1 one was, 2 it could not be run.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.figures import Figures
from benchmarks.report import numbers, write
from benchmarks.scale_out import balancer, figures, replicas
from benchmarks.scale_out.callers import Known, Load, known
from benchmarks.scale_out.incidents import INCIDENTS, Fleet, record
from benchmarks.scale_out.scaling import Cell, cost, scaling
from benchmarks.scale_out.tables import text_of
from orchestrator.errors import PlateError

COST_S = 1.0
"""Of each way in each round."""


def run(arguments: argparse.Namespace) -> Figures:
    """Measure everything.

    Raises:
        PlateError: Something cannot be started, or does not come back.
    """
    pictures = known()
    balancer.program()  # ends here where there is none, before replicas take their time to start
    with replicas.running(max(arguments.replicas), arguments.cores) as started:
        listening = {replica.name: replica.options for replica in started}
        with balancer.running(listening) as balancing:
            fleet = Fleet(started, balancing)
            fleet.wait_until_up()
            report = _measured(fleet, pictures, arguments)
    settings = {name: value for name, value in vars(arguments).items() if name != "json"}
    return {"settings": settings | {"machine_cores": len(os.sched_getaffinity(0))}, **report}


def _measured(fleet: Fleet, pictures: Sequence[Known], arguments: argparse.Namespace) -> Figures:
    rows: list[Figures] = []
    for name in INCIDENTS:
        load = Load(fleet.balancer.urls, arguments.callers, pictures, arguments.retries)
        rows += figures.incident(record(name, fleet, load, arguments.margin))
        print(f"{name}: done", file=sys.stderr)
    cells = [Cell(count, many) for count in arguments.replicas for many in arguments.concurrency]
    timing = {"seconds": arguments.seconds, "rounds": arguments.rounds}
    scaled = scaling(cells, fleet, pictures, retries=arguments.retries, **timing)
    dearer = cost(fleet, pictures[0], seconds=COST_S, rounds=arguments.rounds)
    return {
        "incidents": rows,
        "scaling": figures.scaling(scaled),
        "cost": figures.cost(dearer),
    }


def main() -> int:
    """Parse the command line, run, print and write; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale_out")
    parser.add_argument("--replicas", type=numbers, default=(1, 2, 3), help="how many to compare")
    parser.add_argument("--cores", type=int, default=1, help="of each replica")
    parser.add_argument("--concurrency", type=numbers, default=(1, 4, 8, 16), help="calls at once")
    parser.add_argument("--seconds", type=float, default=1.5, help="of each cell in each round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--callers", type=int, default=2, help="of each protocol, in an incident")
    parser.add_argument("--margin", type=float, default=3.0, help="seconds before and after one")
    parser.add_argument("--retries", type=int, default=5, help="of PlateClient")
    parser.add_argument("--json", type=Path, help="file for every figure")
    arguments = parser.parse_args()
    try:
        report = run(arguments)
    except PlateError as error:
        print(f"scale-out: {error}", file=sys.stderr)
        return 2
    print(text_of(report))
    if arguments.json:
        write(arguments.json, report)
    return 1 if figures.lost(report) else 0


if __name__ == "__main__":
    raise SystemExit(main())
