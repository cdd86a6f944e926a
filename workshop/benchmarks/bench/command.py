"""The command `plates bench`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from orchestrator.cli.flags import (
    CudaGraphsOption,
    CudaPoolOption,
    DecodeOnGpuOption,
    Device,
    DeviceOption,
    EngineOption,
    InstancesOption,
    MpsOption,
    PicturesOnCpuOption,
    PicturesOption,
    RepositoryOption,
    ThreadsOption,
    VerboseOption,
    WeightsOption,
    show_errors,
)
from orchestrator.host.distribution import check_packages
from orchestrator.networks.engines import Engine
from orchestrator.serving.supervisor.capacity import CUDA_POOL_MB
from workshop.benchmarks.bench import plan
from workshop.benchmarks.bench.plan import parse_numbers
from workshop.benchmarks.peers import cells

Text: TypeAlias = str | None
Names: TypeAlias = list[str] | None
# Everything heavy is imported when the command runs, so that --help is quick.


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
    device: DeviceOption = Device.AUTO,
    engine: EngineOption = Engine.AUTO,
    threads: ThreadsOption = 0,
    instances: InstancesOption = 0,
    pictures: PicturesOption = 0,
    pictures_on_cpu: PicturesOnCpuOption = False,
    cuda_graphs: CudaGraphsOption = False,
    decode_on_gpu: DecodeOnGpuOption = False,
    mps: MpsOption = False,
    cuda_pool_mb: CudaPoolOption = CUDA_POOL_MB,
    model_repository: RepositoryOption = None,
    weights: WeightsOption = None,
    verbose: VerboseOption = False,
) -> None:
    """Measure throughput, latency and cost of the server, and of the pipeline without one.

    docs/benchmark.md explains every column.
    """
    with show_errors(verbose=verbose):
        if machine:
            check_packages("torch")
            typer.echo(_describe_machine(device, engine, threads, weights))
            return
        if peers:
            unused = {"transport": transport, "full": full, "against": against, "url": url}
            cells.check_unused(unused)
        address = plan.locate(url, grpc_url, metrics_url)
        counts = cells.CONCURRENCIES if peers else plan.CONCURRENCIES
        planned = plan.Plan(
            out=out,
            plates=parse_numbers(plates, "plates"),
            files=tuple(file or ()),
            transports=tuple(transport or plan.choose_transports(address, admin_key)),
            concurrencies=parse_numbers(concurrency, "concurrency") if concurrency else counts,
            thin=not (full or transport or concurrency),
            seconds=seconds,
            rounds=rounds,
            address=address,
            device=device.value,
            engine=engine.value,
            threads=threads,
            instances=instances,
            pictures=pictures,
            pictures_on_cpu=pictures_on_cpu,
            cuda_graphs=cuda_graphs,
            decode_on_gpu=decode_on_gpu,
            mps=mps,
            cuda_pool_mb=cuda_pool_mb,
            repository=model_repository,
            weights=weights,
            against=against,
            admin_key=admin_key,
        )
        has_failed, text = _measure_peers(planned) if peers else _measure(planned)
        typer.echo(text)
        typer.echo(f"\nreport in {out}", err=True)
    raise typer.Exit(1 if has_failed else 0)


def _describe_machine(device: Device, engine: Engine, threads: int, weights: Path | None) -> str:
    from orchestrator.serving.supervisor.options import ServerOptions
    from workshop.benchmarks.bench.machine import describe

    return describe(
        ServerOptions.given(device=device.value, engine=engine, threads=threads, weights=weights)
    )


def _measure(planned: plan.Plan) -> tuple[bool, str]:
    """Measure every transport; tell whether anything failed, and return the report's text."""
    check_packages("torch", "matplotlib", "psutil")
    from workshop.benchmarks.bench.run import run

    report, text = run(planned)
    return report.has_failed, text


def _measure_peers(planned: plan.Plan) -> tuple[bool, str]:
    """Measure all servers; tell whether anything failed, and return the report's text."""
    check_packages("torch", "psutil", "fastapi")
    from workshop.benchmarks.peers.run import run_peers

    report, text = run_peers(planned)
    return report.has_failed, text
