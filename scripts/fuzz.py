#!/usr/bin/env python3
"""Fuzz picture decoding and request parsing side by side, and print what came of it.

Beside them, the state machines of the cameras try `HISTORIES` histories.

usage: fuzz.py [--minutes 60] [--folder .fuzz]

Fails when there is a finding: an input that was neither answered nor refused, or that took too much
memory or time. Findings and inputs stay in the folder; what was found there before counts again.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

TARGETS = ("pictures", "requests")
MACHINES = (
    "tests/plate_cameras/gates/test_gate_machine.py",
    "tests/plate_cameras/store/test_pass_machine.py",
    "tests/plate_cameras/watching/test_lease_machine.py",
)
HISTORIES_A_MINUTE = 50
"""Histories of each state machine for a minute of fuzzing."""
FOUND = ("fault-*", "crash-*", "oom-*", "timeout-*", "leak-*")
"""Files of findings, by us and by libFuzzer. Slow units are left out: the machine often causes
them."""
ROW = "{:10} {:>12} {:>12} {:>12} {:>9}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--folder", type=Path, default=Path(".fuzz"))
    options = parser.parse_args()
    processes = [start(target, options.folder / target, options.minutes) for target in TARGETS]
    machines = start_machines(options.folder, options.minutes)
    failures = [target for target, process in zip(TARGETS, processes) if process.wait()]
    print(ROW.format("target", "executions", "answered", "refused", "findings"))
    failures += ["machines"] if machines.wait() else []
    findings = [file for target in TARGETS for file in report(target, options.folder / target)]
    for file in findings:
        print(file)
    if failures or findings:
        sys.exit(
            f"fuzz: wanted no findings, got {len(findings)}; ended early: {failures or 'none'}"
        )


def start(target: str, folder: Path, minutes: float) -> subprocess.Popen[bytes]:
    """Start fuzzing a target; libFuzzer's output goes to a log beside the findings."""
    folder.mkdir(parents=True, exist_ok=True)
    print(f"{target}: {minutes:g} minutes, {folder / 'log'}", flush=True)
    command = [sys.executable, "-m", f"tests.fuzzing.fuzz_{target}", str(folder)]
    with (folder / "log").open("wb") as log:
        return subprocess.Popen(
            ["nice", *command, "--minutes", str(minutes)], stdout=log, stderr=subprocess.STDOUT
        )


def start_machines(folder: Path, minutes: float) -> subprocess.Popen[bytes]:
    """Start the state machines; a history that fails stands in the log."""
    histories = {"HISTORIES": str(max(1, round(minutes * HISTORIES_A_MINUTE)))}
    new_inputs = ("--hypothesis-profile", "default")
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", *new_inputs, *MACHINES]
    print(
        f"machines: {histories['HISTORIES']} histories each, {folder / 'machines.log'}", flush=True
    )
    with (folder / "machines.log").open("wb") as log:
        environment = {**os.environ, **histories}
        return subprocess.Popen(
            ["nice", *command], stdout=log, stderr=subprocess.STDOUT, env=environment
        )


def report(target: str, folder: Path) -> list[Path]:
    """Print the results of a session; return its findings."""
    findings = [file for pattern in FOUND for file in sorted(folder.glob(pattern))]
    file = folder / "notes.json"
    notes = json.loads(file.read_text()) if file.is_file() else {"executions": 0, "outcomes": {}}
    counts = [notes["outcomes"].get(name, 0) for name in ("answered", "refused")]
    print(ROW.format(target, notes["executions"], *counts, len(findings)))
    return findings


if __name__ == "__main__":
    main()
