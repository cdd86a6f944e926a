"""The command `plates soak`, and the plan of a run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.flags import VerboseOption, show_errors
from orchestrator.errors import SettingsError
from orchestrator.host.distribution import check_packages
from orchestrator.host.toml_files import check_range

CALLS = 1000
MAX_CALLS, MAX_MINUTES = 100_000_000, 60 * 24 * 31
# Everything heavy is imported when the command runs, so that --help is quick.


@dataclass(frozen=True)
class Plan:
    """The length and the load of a soak run, and the paths of its report.

    Attributes:
        publish: The PNG file of the plot, in the folder of its page; None: not published.
    """

    out: Path
    calls: int | None = None
    minutes: float | None = None
    callers: int = 4
    every_s: float = 1.0
    publish: Path | None = None

    def __post_init__(self) -> None:
        if (self.calls is None) == (self.minutes is None):
            raise SettingsError("soak: wanted --calls or --minutes, got both or none")
        if self.calls is not None:
            check_range("calls", self.calls, 1, MAX_CALLS)
        if self.minutes is not None:
            check_range("minutes", self.minutes, 0.01, MAX_MINUTES)
        check_range("callers", self.callers, 1, 64)
        check_range("every", self.every_s, 0.05, 3600)

    @property
    def length(self) -> str:
        """The length of the run, in words."""
        if self.calls is not None:
            return f"{self.calls:,} calls"
        return "1 minute" if self.minutes == 1 else f"{self.minutes:g} minutes"


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
