"""Injects faults into a real `plates watch` and its surroundings, and compares with the truth.

    python -m workshop.benchmarks.camera_faults --page docs/reliability.md

Each fault is made in a world of its own: real PostgreSQL, mosquitto and RTSP, a webhook, a file, a
relay, and a stand-in for the recognition service. docs/reliability.md explains the table.

Exit codes: 0 every promise was kept, 1 a promise was broken, 2 the run failed, 3 it was ended by
SIGTERM.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from pathlib import Path

from orchestrator.errors import PlateError, SettingsError
from workshop.benchmarks.camera_faults.observation import CameraFault, make_fault
from workshop.benchmarks.camera_faults.page import format_rows, write_page
from workshop.benchmarks.camera_faults.registry import FAULTS
from workshop.benchmarks.camera_faults.report import CameraFaultsReport, CameraRow
from workshop.benchmarks.faults.page import format_notes
from workshop.reporting.files import explain_write_errors, prepare_folder, write_report
from workshop.reporting.machine import describe_machine


def choose(names: Sequence[str]) -> list[CameraFault]:
    """Return the faults with these names, or all faults when there are no names."""
    known = {fault.name: fault for fault in FAULTS}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise SettingsError(f"only: wanted some of {', '.join(known)}, got {unknown[0]}")
    return [fault for fault in FAULTS if not names or fault.name in names]


def run(faults: Sequence[CameraFault], logs: Path | None, at_once: int) -> CameraFaultsReport:
    """Make faults, several at once, and print the result of each as soon as it is over."""
    began = time.monotonic()

    def make(fault: CameraFault) -> CameraRow:
        row = make_fault(fault, logs)
        verdict = row.skipped or "; ".join(row.broken) or "kept"
        print(f"{time.monotonic() - began:4.0f} s  {row.name}: {verdict}", file=sys.stderr)
        return row

    pool = ThreadPoolExecutor(at_once)
    try:
        rows = tuple(pool.map(make, faults))
    finally:
        pool.shutdown(cancel_futures=True)
    today = datetime.now(timezone.utc).date().isoformat()
    return CameraFaultsReport(today, time.monotonic() - began, describe_machine(), rows)


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m workshop.benchmarks.camera_faults")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="names of faults")
    parser.add_argument("--at-once", type=int, default=1, help="worlds at once")
    parser.add_argument("--json", type=Path, help="file for every figure")
    parser.add_argument("--page", type=Path, help="page that shows the table between its marks")
    parser.add_argument("--logs", type=Path, help="folder for what the programs said")
    return parser.parse_args(arguments)


def main() -> int:
    """Parse the command line, run, print and write; return the exit code."""
    given = parse(sys.argv[1:])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))  # programs are ended on exit
    try:
        faults = choose(given.only)
        if given.json:
            prepare_folder(given.json.parent)
        report = run(faults, given.logs, given.at_once)
        print(format_rows(report))
        print("\n".join(format_notes(report)))
        if given.json:
            with explain_write_errors(given.json.parent):
                write_report(report, given.json)
        if given.page:
            write_page(given.page, report)
    except PlateError as error:
        print(f"camera_faults: {error}", file=sys.stderr)
        return 2
    return 0 if report.is_kept else 1


if __name__ == "__main__":
    raise SystemExit(main())
