"""Injects faults into a real `plates watch` and its surroundings, and compares with the truth.

    python -m workshop.benchmarks.camera_faults --page docs/reliability.md

Each fault is made in a world of its own: real PostgreSQL, mosquitto and RTSP, a webhook, a file, a
relay, and a stand-in for the recognition service. docs/reliability.md explains the table.

Exit codes: 0 every promise was kept, 1 a promise was broken, 2 the run failed, 3 it was ended by
SIGTERM.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from workshop.benchmarks.camera_faults.observation import CameraFault, make_fault
from workshop.benchmarks.camera_faults.registry import FAULTS
from workshop.benchmarks.camera_faults.report import TABLE, CameraRow
from workshop.benchmarks.fault_runs import make_parser, run_command


def make_all(faults: Sequence[CameraFault], logs: Path | None, at_once: int) -> Iterator[CameraRow]:
    """Make faults, several at once; yield their results in order."""
    pool = ThreadPoolExecutor(at_once)
    try:
        yield from pool.map(partial(make_fault, logs=logs), faults)
    finally:
        pool.shutdown(cancel_futures=True)


def main() -> int:
    """Parse the command line, run, print and write; return the exit code."""
    parser = make_parser("workshop.benchmarks.camera_faults")
    parser.add_argument("--at-once", type=int, default=1, help="worlds at once")
    options = parser.parse_args()
    make = partial(make_all, logs=options.logs, at_once=options.at_once)
    return run_command(options, FAULTS, make, TABLE)


if __name__ == "__main__":
    raise SystemExit(main())
