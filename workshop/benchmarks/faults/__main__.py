"""Injects faults into a real service under load and measures their effect on the callers.

    python -m workshop.benchmarks.faults --json reports/faults.json --page docs/reliability.md

Callers of every protocol call without a pause and without retries, each with another picture. They
compare each answer with the one that the picture got alone. docs/reliability.md explains the table.

Exit codes: 0 every promise was kept, 1 a promise was broken, 2 the run failed, 3 it was ended by
SIGTERM.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from orchestrator.serving.supervisor.local_server import prepare
from orchestrator.serving.supervisor.options import ServerOptions
from workshop.benchmarks.fault_runs import make_parser, run_command
from workshop.benchmarks.faults.callers import build_requests, render_crops, render_pictures
from workshop.benchmarks.faults.observation import Fault, Harness
from workshop.benchmarks.faults.registry import FAULTS
from workshop.benchmarks.faults.report import TABLE, Row

PICTURES = 48
EACH = 2


def main() -> int:
    """Parse the command line, run, print and write; return the exit code."""
    parser = make_parser("workshop.benchmarks.faults")
    parser.add_argument("--each", type=int, default=EACH, help="callers of each protocol")
    options = parser.parse_args()

    def make(faults: Sequence[Fault]) -> Iterator[Row]:
        requests = build_requests(render_pictures(PICTURES), render_crops(PICTURES))
        prepare(ServerOptions(device="cpu"))
        return Harness(requests, options.each, options.logs).make(faults)

    return run_command(options, FAULTS, make, TABLE)


if __name__ == "__main__":
    raise SystemExit(main())
