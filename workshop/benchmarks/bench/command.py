"""The command `plates bench`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from orchestrator.cli.flags import VerboseOption, show_errors
from orchestrator.errors import SettingsError
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
    plates: Annotated[str, typer.Option(help="Of the rendered pictures, one each.")] = "0,1,4,20",
    file: Annotated[
        list[Path] | None, typer.Option(help="A picture file to use instead; repeatable.")
    ] = None,
    transport: Annotated[
        Names, typer.Option(help=f"{', '.join(plan.TRANSPORTS)}; repeatable; default: all.")
    ] = None,
    concurrency: Annotated[Text, typer.Option(help="Calls at once; default: 1,2,4,8,16.")] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Every transport at every concurrency.")
    ] = False,
    peers: Annotated[
        bool,
        typer.Option(
            "--peers",
            help="Compare with the same pipeline behind other servers; at 1, 4, 16 calls at once.",
        ),
    ] = False,
    seconds: Annotated[float, typer.Option(help="Of each cell in each round.")] = plan.SECONDS,
    rounds: Annotated[int, typer.Option(help="How often everything is measured.")] = plan.ROUNDS,
    out: Annotated[Path, typer.Option(help="Folder for the report.")] = Path("reports/bench"),
    against: Annotated[Path | None, typer.Option(help="report.json of another run.")] = None,
    url: Annotated[
        Text, typer.Option(help="host:port of a running server; starts one of its own without.")
    ] = None,
    grpc_url: Annotated[Text, typer.Option(help="host:port of the same, gRPC.")] = None,
    metrics_url: Annotated[Text, typer.Option(help="http://host:port/metrics of the same.")] = None,
    admin_key: Annotated[
        str, typer.Option(envvar="PLATES_ADMIN_KEY", help="Of the same, for shared memory.")
    ] = "",
    machine: Annotated[
        bool,
        typer.Option(
            "--machine", help="Only tell the CPU's instructions and the networks' engines."
        ),
    ] = False,
    server: CapacityOptions,
    verbose: VerboseOption = False,
) -> None:
    """Measure throughput, latency and cost of the server, and of the pipeline without one.

    docs/benchmark.md explains every column.
    """
    with show_errors(verbose=verbose):
        if machine:
            check_packages("torch")
            typer.echo(_describe_machine(server))
            return
        for name, value in {"transport": transport, "full": full, "url": url}.items():
            if peers and value:
                raise SettingsError(f"peers: wanted without --{name}, got both")
        address = plan.locate(url, grpc_url, metrics_url)
        transports = plan.PEERS if peers else plan.choose_transports(address, admin_key)
        counts = plan.OF_PEERS if peers else plan.CONCURRENCIES
        planned = plan.Plan(
            out=out,
            plates=parse_numbers(plates, "plates"),
            files=tuple(file or ()),
            transports=tuple(transport or transports),
            concurrencies=parse_numbers(concurrency, "concurrency") if concurrency else counts,
            thin=not (full or transport or concurrency or peers),
            seconds=seconds,
            rounds=rounds,
            address=address,
            server=server,
            against=against,
            admin_key=admin_key,
        )
        has_failed, text = _measure(planned)
        typer.echo(text)
        typer.echo(f"\nreport in {out}", err=True)
    raise typer.Exit(1 if has_failed else 0)


def _describe_machine(server: CapacityOptions) -> str:
    from orchestrator.serving.supervisor.options import ServerOptions
    from workshop.benchmarks.bench.machine import describe

    return describe(ServerOptions.given(**vars(server)))


def _measure(planned: plan.Plan) -> tuple[bool, str]:
    """Measure, and write the report; tell whether anything failed, and return its text."""
    check_packages("torch", "matplotlib", "psutil", *(["fastapi"] if planned.is_of_peers else []))
    from workshop.benchmarks.bench.run import run
    from workshop.benchmarks.bench.session import open_session
    from workshop.benchmarks.peers.session import open_peers

    report, text = run(planned, open_peers if planned.is_of_peers else open_session)
    return report.has_failed, text
