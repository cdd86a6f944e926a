"""`python -m workshop.benchmarks.gateway`: measures the cost of the gateway, and a flood."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from math import nan
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.flags import show_errors
from workshop.benchmarks.gateway.measurement import Cost, Flood, measure_cost, measure_flood
from workshop.benchmarks.gateway.services import open_services
from workshop.benchmarks.load.process import run_callers
from workshop.benchmarks.pictures import render
from workshop.benchmarks.pooling import percentile
from workshop.reporting.tables import format_markdown

app = typer.Typer(add_completion=False)


@app.command()
def main(
    *,
    picture: Annotated[
        list[Path] | None,
        typer.Argument(help="JPEG files; rendered streets of 1280x960 without."),
    ] = None,
    seconds: Annotated[
        float, typer.Option(help="Of each measurement; five of each; 0: none.")
    ] = 4.0,
    flood: Annotated[float, typer.Option(help="Seconds of the flood; 0: none.")] = 60.0,
) -> None:
    """Call the bare Triton and the gateway in front of it in turns; then flood them."""
    with show_errors(verbose=False), tempfile.TemporaryDirectory() as folder:
        files = picture or _rendered(Path(folder))
        with open_services() as ports, run_callers() as measure:
            if seconds:
                typer.echo(show_costs(measure_cost(ports, files, seconds, measure)))
            if flood:
                typer.echo(show_floods([*measure_flood(ports, files[0], flood, measure)]))


def _rendered(folder: Path) -> Sequence[Path]:
    """Write two street pictures: one with four plates and one without plates."""
    files = []
    for plates in (4, 0):
        file = folder / f"{plates} plates.jpg"
        file.write_bytes(render(plates).encoded)
        files.append(file)
    return files


def show_costs(costs: Iterable[Cost]) -> str:
    """Return the costs as a Markdown table."""
    header = ("picture", "calls at once", "bare, calls/s", "gateway, calls/s", "ratio", "ms more")
    return format_markdown(header, [_cost_row(cost) for cost in costs])


def _cost_row(cost: Cost) -> tuple[str, ...]:
    rates = [f"{rate:.1f}" for rate in cost.rates.values()]
    more = f"{cost.more_ms:.1f}"
    return (cost.picture, str(cost.callers), *rates, f"{cost.ratio:.2f}", more)


def show_floods(floods: Sequence[Flood]) -> str:
    """Return a Markdown table. The share is relative to the first row of the same server."""
    header = (
        *("server", "callers", "answered/s", "share", "p50 ms", "p99 ms"),
        *("refused/s", "gateway MiB before", "after"),
    )
    busy = {flood.server: flood.round.throughput for flood in reversed(floods)}
    return format_markdown(header, [_flood_row(flood, busy[flood.server]) for flood in floods])


def _flood_row(flood: Flood, busy: float) -> tuple[str, ...]:
    measured = flood.round
    p50, p99 = (percentile(measured.latencies_ms, share) or nan for share in (50, 99))
    return (
        flood.server,
        str(flood.callers),
        f"{measured.throughput:.1f}",
        f"{measured.throughput / busy:.2f}",
        f"{p50:.0f}",
        f"{p99:.0f}",
        f"{measured.unanswered / measured.seconds:.0f}",
        f"{flood.before_mb:.0f}",
        f"{flood.after_mb:.0f}",
    )


if __name__ == "__main__":
    app()
