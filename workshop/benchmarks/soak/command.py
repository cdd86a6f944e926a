"""The command `plates soak`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.flags import VerboseOption, show_errors
from orchestrator.host.optional_dependencies import check_packages
from workshop.benchmarks.soak.plan import CALLS, Plan

# Everything heavy is imported when the command runs, so that --help is quick.


def soak(
    *,
    calls: Annotated[int | None, typer.Option(help=f"How many; {CALLS} without --minutes.")] = None,
    minutes: Annotated[float | None, typer.Option(help="By time instead of by count.")] = None,
    callers: Annotated[int, typer.Option(help="Calls at once.")] = Plan.callers,
    every: Annotated[float, typer.Option(help="Seconds between samples.")] = Plan.every_s,
    out: Annotated[Path, typer.Option(help="Folder for the report.")] = Path("reports/soak"),
    publish: Annotated[
        Path | None,
        typer.Option(help="PNG file for the plot; soak.md beside it gets the figures."),
    ] = None,
    verbose: VerboseOption = False,
) -> None:
    """Call a service of its own for long, and fail when anything of it grows.

    docs/soak.md explains the report.
    """
    with show_errors(verbose=verbose):
        check_packages("torch", "matplotlib", "psutil")
        from workshop.benchmarks.soak.run import run

        if minutes is None and calls is None:
            calls = CALLS
        planned = Plan(out, calls, minutes, callers, every, publish)
        report, text = run(planned)
        typer.echo(text)
        typer.echo(f"\nreport in {out}", err=True)
    raise typer.Exit(1 if report.has_failed else 0)
