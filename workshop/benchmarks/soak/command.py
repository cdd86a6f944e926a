"""The command `plates soak`, and the plan of a run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.flags import VerboseOption, show_errors
from orchestrator.errors import SettingsError
from orchestrator.host.distribution import check_packages
from orchestrator.host.option_fields import check_ranges, expand

CALLS = 1000
# Everything heavy is imported when the command runs, so that --help is quick.


@dataclass(frozen=True)
class Plan:
    """The length and the load of a soak run, and the paths of its report."""

    calls: Annotated[
        int | None,
        typer.Option(min=1, max=100_000_000, help=f"How many; {CALLS} without --minutes."),
    ] = None
    minutes: Annotated[
        float | None,
        typer.Option(min=0.01, max=60 * 24 * 31, help="By time instead of by count."),
    ] = None
    callers: Annotated[int, typer.Option(min=1, max=64, help="Calls at once.")] = 4
    pictures: Annotated[
        int,
        typer.Option(
            min=0, max=64, help="Pictures in work at once; 0: as many as fit the machine."
        ),
    ] = 0
    every_s: Annotated[
        float, typer.Option("--every", min=0.05, max=3600, help="Seconds between samples.")
    ] = 1.0
    out: Annotated[Path, typer.Option(help="Folder for the report.")] = Path("reports/soak")

    def check(self) -> None:
        """Reject a plan that makes no sense.

        Raises:
            SettingsError: A value is out of its range, or the length is given twice.
        """
        if self.calls is not None and self.minutes is not None:
            raise SettingsError("soak: wanted --calls or --minutes, got both")
        check_ranges(self)

    @property
    def most_calls(self) -> int | None:
        """The number of calls; None in a run by time."""
        return (self.calls or CALLS) if self.minutes is None else None

    @property
    def length(self) -> str:
        """The length of the run, in words."""
        if self.minutes is None:
            return f"{self.most_calls:,} calls"
        return "1 minute" if self.minutes == 1 else f"{self.minutes:g} minutes"


@expand
def soak(*, plan: Plan, verbose: VerboseOption = False) -> None:
    """Start a service, call it for long, and fail if its memory or anything else grows.

    docs/soak.md explains the report.
    """
    with show_errors(verbose=verbose):
        check_packages("torch", "matplotlib", "psutil")
        from workshop.benchmarks.soak.run import run

        report, text = run(plan)
        typer.echo(text)
        typer.echo(f"\nreport in {plan.out}", err=True)
    raise typer.Exit(1 if report.has_failed else 0)
