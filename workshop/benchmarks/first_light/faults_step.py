"""The step `faults`: faults inside workers under load, the service's recovery, and its probes."""

from __future__ import annotations

from workshop.benchmarks.faults.callers import build_text_requests
from workshop.benchmarks.faults.harness import Harness
from workshop.benchmarks.faults.pictures import render_pictures
from workshop.benchmarks.faults.report import Row as Fault
from workshop.benchmarks.faults.settings import BREAKING
from workshop.benchmarks.faults.worker_faults import list_worker_faults
from workshop.benchmarks.first_light.steps import Row, Scope, StepResult
from workshop.reporting.tables import format_figure

HEADER = ("fault", "calls", "answered", "refused", "lost", "wrong", "longest, s", "recovered, s",
          "notes")  # fmt: skip
NEVER = "not seen"


def break_workers(scope: Scope) -> StepResult:
    """Break workers under load. No caller may see an error or get another picture's texts."""
    known = list_worker_faults(BREAKING[scope.device])
    faults = [fault for fault in known if scope.faults is None or fault.name in scope.faults]
    requests = build_text_requests(render_pictures(12 if scope.is_whole else 2))
    each, before_s = (4, 3.0) if scope.is_whole else (1, 0.3)
    made = [*Harness(requests, each, before_s=before_s).make(faults)]
    return report(made)


def report(made: list[Fault]) -> StepResult:
    """Return the table of faults; what broke a promise is wrong."""
    wrong = [f"{row.fault}: {why}" for row in made for why in row.broken]
    recovered = {
        f"{row.fault}, recovered, s": row.recover_s for row in made if row.recover_s is not None
    }
    return StepResult("Faults in workers", HEADER, tuple(map(_row, made)), tuple(wrong), recovered)


def _row(row: Fault) -> Row:
    counts = row.counts
    numbers = (counts.sent, counts.answered, counts.all_refused, counts.lost, counts.wrong)
    recovered = NEVER if row.recover_s is None else format_figure(row.recover_s)
    times = (format_figure(counts.longest_s), recovered)
    return (row.fault, *map(str, numbers), *times, "; ".join(row.notes))
