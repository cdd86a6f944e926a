"""The command `plates bench`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from orchestrator.cli.flags import VerboseOption, show_errors
from orchestrator.host.distribution import check_packages
from orchestrator.host.option_fields import expand
from orchestrator.networks.options import CapacityOptions
from workshop.benchmarks.bench import plan
from workshop.benchmarks.bench.plan import parse_numbers

Text: TypeAlias = str | None
Names: TypeAlias = list[str] | None
# Everything heavy is imported when the command runs, so that --help is quick.


@expand
def bench(
    *,
    plates: Annotated[
        str, typer.Option(help="Numbers of plates of the rendered pictures.")
    ] = "0,1,4,20",
    file: Annotated[
        list[Path] | None, typer.Option(help="A picture file to use instead; repeatable.")
    ] = None,
    transport: Annotated[
        Names, typer.Option(help=f"{', '.join(plan.TRANSPORTS)}; repeatable; default: all.")
    ] = None,
    concurrency: Annotated[Text, typer.Option(help="Calls at once; default: 1,2,4,8,16.")] = None,
    seconds: Annotated[
        float, typer.Option(help="Seconds of each measurement in each round.")
    ] = plan.SECONDS,
    rounds: Annotated[int, typer.Option(help="How often everything is measured.")] = plan.ROUNDS,
    out: Annotated[Path, typer.Option(help="Folder for the report.")] = Path("reports/bench"),
    url: Annotated[
        Text, typer.Option(help="host:port of a running server; without it, one is started.")
    ] = None,
    grpc_url: Annotated[Text, typer.Option(help="host:port of the running server's gRPC.")] = None,
    metrics_url: Annotated[
        Text, typer.Option(help="http://host:port/metrics of the running server.")
    ] = None,
    server: CapacityOptions,
    verbose: VerboseOption = False,
) -> None:
    """Measure throughput, latency and cost of the server and of the pipeline without a server.

    docs/benchmark.md explains every column.
    """
    with show_errors(verbose=verbose):
        address = plan.locate(url, grpc_url, metrics_url)
        bench_plan = plan.Plan(
            out=out,
            plates=parse_numbers(plates, "plates"),
            files=tuple(file or ()),
            transports=tuple(transport or plan.choose_transports(address)),
            concurrencies=parse_numbers(concurrency, "concurrency")
            if concurrency
            else plan.CONCURRENCIES,
            thin=not (transport or concurrency),
            seconds=seconds,
            rounds=rounds,
            address=address,
            server=server,
        )
        has_failed, text = _measure(bench_plan)
        typer.echo(text)
        typer.echo(f"\nreport in {out}", err=True)
    raise typer.Exit(1 if has_failed else 0)


def _measure(bench_plan: plan.Plan) -> tuple[bool, str]:
    """Measure, and write the report; tell whether anything failed, and return its text."""
    check_packages("torch", "matplotlib", "psutil")
    from workshop.benchmarks.bench.report import run

    report, text = run(bench_plan)
    return report.has_failed, text
