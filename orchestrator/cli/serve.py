"""The command `plates serve`."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from orchestrator.cli.flags import (
    Device,
    DeviceOption,
    EngineOption,
    FormatsOption,
    PicturesOption,
    RepositoryOption,
    ThreadsOption,
    VerboseOption,
    WeightsOption,
    show_errors,
)
from orchestrator.networks.engines import Engine

# Everything heavy is imported when a command runs, so that --help is quick.


def serve(
    *,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    http_port: int = 8000,
    grpc_port: int = 8001,
    metrics_port: int = 8002,
    device: DeviceOption = Device.AUTO,
    engine: EngineOption = Engine.AUTO,
    threads: ThreadsOption = 0,
    pictures: PicturesOption = 0,
    model_repository: RepositoryOption = None,
    beside: Annotated[
        list[Path] | None,
        typer.Option(help="A repository whose models are served beside; repeatable."),
    ] = None,
    weights: WeightsOption = None,
    formats: FormatsOption = None,
    explicit: Annotated[
        bool,
        typer.Option(
            help="Serve the repository as it lies, one that `plates export --out` wrote or any "
            "other; models are loaded and unloaded over Triton's repository API."
        ),
    ] = False,
    admin_key: Annotated[
        str,
        typer.Option(
            envvar="PLATES_ADMIN_KEY",
            help="Who administers the server over the network must send this: docs/operations.md.",
        ),
    ] = "",
    traces: Annotated[
        str,
        typer.Option(help="OpenTelemetry collector to send traces to: http://host:4318/v1/traces."),
    ] = "",
    trace_rate: Annotated[int, typer.Option(min=1, help="One of so many requests is traced.")] = 1,
    verbose: VerboseOption = False,
) -> None:
    """Start the Triton server and keep it running until Ctrl-C."""
    with show_errors(verbose=verbose):
        from orchestrator.server.local import prepare
        from orchestrator.server.options import ServerOptions, check
        from orchestrator.server.process import start
        from orchestrator.server.supervisor import keep_running

        options = ServerOptions.given(
            repository=model_repository,
            beside=tuple(beside or ()),
            weights=weights,
            formats=formats,
            host=host,
            http_port=http_port,
            grpc_port=grpc_port,
            metrics_port=metrics_port,
            device=device.value,
            engine=engine,
            threads=threads,
            pictures=pictures,
            explicit=explicit,
            admin_key=admin_key,
            traces=traces,
            trace_rate=trace_rate,
        )
        check(options)  # before an export, which takes its time
        prepare(options)
        typer.echo("starting Triton ...", err=True)
        started = start(options)
        with suppress(KeyboardInterrupt):  # the way to stop it, no failure
            keep_running(started, options, tell=lambda: typer.echo(_welcome(options)))
        typer.echo("stopped", err=True)


def _welcome(options: Any) -> str:
    return f"""\
ready
  HTTP     {options.http_url}
  gRPC     {options.grpc_url}
  metrics  {options.metrics_url}

{_first_steps(options)}

Ctrl-C stops the server."""


def _first_steps(options: Any) -> str:
    from orchestrator.server.models import list_models
    from orchestrator.server.repository import holds_plates

    if not holds_plates(options.repository):
        return f"""\
models: {", ".join(name for folder in options.served_as_they_lie for name in list_models(folder))}
What one takes and gives: curl {options.http_url}/v2/models/NAME"""
    return f"""\
Try it from another terminal:
  .venv/bin/plates recognize tests/data/street.jpg --url {options.http_url}
or from Python:
  from orchestrator import PlateClient
  print(PlateClient("{options.http_url}").recognize("tests/data/street.jpg").to_dataframe())"""
