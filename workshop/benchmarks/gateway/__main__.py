"""`python -m workshop.benchmarks.gateway`: measures the cost of the gateway, and a flood."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from math import nan
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.flags import show_errors
from workshop.benchmarks.gateway.measurement import (
    BARE,
    GATEWAY,
    Cell,
    Flood,
    measure_costs,
    measure_flood,
    open_services,
    run_callers,
)
from workshop.benchmarks.pictures import render
from workshop.benchmarks.pooling import LoadFigures, percentile
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
        files = picture or _render(Path(folder))
        with open_services() as services, run_callers() as measure:
            if seconds:
                typer.echo(show_costs(measure_costs(services, files, seconds, measure)))
            if flood:
                typer.echo(show_floods([*measure_flood(services, files[0], flood, measure)]))


def _render(folder: Path) -> Sequence[Path]:
    """Write two street pictures: one with four plates and one without plates."""
    files = [folder / f"{plates} plates.jpg" for plates in (4, 0)]
    for file in files:
        file.write_bytes(render(int(file.name[0])).encoded)
    return files


def show_costs(costs: Mapping[Cell, LoadFigures]) -> str:
    """Return the costs as a Markdown table."""
    header = ("picture", "calls at once", "bare, calls/s", "gateway, calls/s", "ratio", "ms more")
    return format_markdown(header, [*_cost_rows(costs)])


def _cost_rows(costs: Mapping[Cell, LoadFigures]) -> Iterator[tuple[str, ...]]:
    for cell, bare in costs.items():
        if cell.server == BARE:
            ours = costs[cell._replace(server=GATEWAY)]
            more = (ours.p50_ms or nan) - (bare.p50_ms or nan)
            rates = (f"{one.throughput:.1f}" for one in (bare, ours))
            ratio = f"{ours.throughput / bare.throughput:.2f}"
            yield (cell.picture, str(cell.callers), *rates, ratio, f"{more:.1f}")


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
    rates = (f"{measured.throughput:.1f}", f"{measured.throughput / busy:.2f}")
    rest = (
        *(percentile(measured.latencies_ms, share) or nan for share in (50, 99)),
        measured.unanswered / measured.seconds,
        *(flood.before_mb, flood.after_mb),
    )
    return (flood.server, str(flood.callers), *rates, *(f"{value:.0f}" for value in rest))


if __name__ == "__main__":
    app()
