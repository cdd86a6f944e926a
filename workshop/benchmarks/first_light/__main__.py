"""`make gpu-first-light`: every step in a process of its own, then one page of all results.

`python -m workshop.benchmarks.first_light --rehearse` does the same on a CPU, in a small way.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import torch
import typer

from orchestrator.errors import PlateError
from workshop.benchmarks.first_light.answers_step import compare_answers
from workshop.benchmarks.first_light.decoding_step import compare_decoding
from workshop.benchmarks.first_light.faults_step import break_workers
from workshop.benchmarks.first_light.machine_step import look_at_machine
from workshop.benchmarks.first_light.page import SETTINGS, write_page
from workshop.benchmarks.first_light.server_steps import check_tensors, measure_settings
from workshop.benchmarks.first_light.steps import QUICK, REHEARSAL, WHOLE, Scope, StepResult
from workshop.reporting.files import prepare_folder, read_report, write_report

Step = Callable[[Scope], StepResult]


def list_steps(scope: Scope) -> Mapping[str, Step]:
    """Return the steps of a run, the most telling ones first.

    Each way to run a server is a step of its own.
    """
    return {
        "machine": look_at_machine,
        "tensors": check_tensors,
        **{f"{SETTINGS}-{way}": partial(measure_settings, way) for way in scope.ways},
        "faults": break_workers,
        "answers": compare_answers,
        "decoding": compare_decoding,
    }


MAX_DURATION_S = 590
"""The time limit of a step in seconds; a machine is often lent for ten minutes at a time."""
OUT = Path("reports/gpu-first-light")


def main(
    step: Annotated[str, typer.Option(help="Run this step alone, in this process.")] = "",
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = OUT,
    *,
    rehearse: Annotated[bool, typer.Option("--rehearse", help="Small, on a CPU.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="In some eight minutes.")] = False,
    again: Annotated[bool, typer.Option("--again", help="Repeat the steps done before.")] = False,
) -> None:
    """Look at a GPU from all sides; go on where an earlier run ended."""
    scope = REHEARSAL if rehearse else QUICK if quick else WHOLE
    size = ["--rehearse"] if rehearse else ["--quick"] if quick else []
    steps = list_steps(scope)
    try:
        prepare_folder(out)
        if step:
            if rehearse:
                torch.set_num_threads(1)  # several would wait for cores that other tests use
            write_report(steps[step](scope), out / f"{step}.json")
            return
        done = [name for name in steps if _run_step(name, out, size, again=again)]
        failed = [name for name in steps if name not in done]
        results = {name: read_report(StepResult, out / f"{name}.json") for name in done}
        is_right = write_page(results, failed, out)
    except PlateError as error:
        typer.echo(f"first light: {error}", err=True)
        raise typer.Exit(2) from error
    raise typer.Exit(0 if is_right else 1)


def _run_step(name: str, out: Path, size: Sequence[str], *, again: bool) -> bool:
    """Run a step in a process of its own, unless it was done; return whether its file is there."""
    file = out / f"{name}.json"
    if again:
        file.unlink(missing_ok=True)
    if file.exists():
        return True
    typer.echo(f"{name} ...", err=True)
    line = [sys.executable, "-m", __package__, f"--step={name}", f"--out={out}", *size]
    try:
        done = subprocess.run(line, timeout=MAX_DURATION_S, check=False)
    except subprocess.TimeoutExpired:
        typer.echo(f"{name}: took more than {MAX_DURATION_S} s", err=True)
        return False
    if done.returncode:
        typer.echo(f"{name}: ended with exit status {done.returncode}", err=True)
    return file.exists()


if __name__ == "__main__":
    typer.run(main)
