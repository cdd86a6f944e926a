"""The command `plates serve`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.flags import (
    Device,
    DeviceOption,
    EngineOption,
    FormatsOption,
    PicturesOption,
    PortOption,
    RepositoryOption,
    ThreadsOption,
    VerboseOption,
    WeightsOption,
    show_errors,
)
from orchestrator.cli.gateway_flags import (
    AuditOption,
    CertificateOption,
    GatewayFlags,
    GatewayGrpcOption,
    GatewayMetricsOption,
    GatewayOption,
    KeysOption,
    LimitOption,
    NoGatewayOption,
    NoKeysOption,
    PrivateKeyOption,
    ProcessesOption,
)
from orchestrator.cli.outputs import open_closed_streams
from orchestrator.cli.services import run_services
from orchestrator.errors import SettingsError
from orchestrator.networks.engines import Engine

# Everything heavy is imported when a command runs, so that --help is quick.

UNKNOWN_KEY = (
    "explicit: wanted PLATES_ADMIN_KEY, got none: whoever loads models must send it, and nobody "
    "would know it"
)


def serve(
    *,
    gateway: GatewayOption = GatewayFlags.http,
    gateway_grpc: GatewayGrpcOption = GatewayFlags.grpc,
    gateway_metrics: GatewayMetricsOption = "",
    no_gateway: NoGatewayOption = False,
    keys: KeysOption = None,
    no_keys: NoKeysOption = False,
    certificate: CertificateOption = None,
    private_key: PrivateKeyOption = None,
    audit: AuditOption = None,
    gateway_processes: ProcessesOption = 1,
    limit: LimitOption = None,
    host: Annotated[str, typer.Option(help="Address that Triton listens on.")] = "127.0.0.1",
    http_port: PortOption = 8000,
    grpc_port: PortOption = 8001,
    metrics_port: PortOption = 8002,
    trust_network: Annotated[
        bool,
        typer.Option(
            help="Let Triton itself listen to others, any of whom could end it; the gateway is "
            "for them."
        ),
    ] = False,
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
        str | None,
        typer.Option(
            envvar="PLATES_ADMIN_KEY",
            help="Who administers Triton must send this; nobody can without: docs/operations.md. "
            "In the variable it is out of others' sight.",
        ),
    ] = None,
    tritonserver: Annotated[
        Path | None,
        typer.Option(help="Program of an installed Triton to run; the embedded one without."),
    ] = None,
    traces: Annotated[
        str,
        typer.Option(help="OpenTelemetry collector to send traces to: http://host:4318/v1/traces."),
    ] = "",
    trace_rate: Annotated[int, typer.Option(min=1, help="One of so many requests is traced.")] = 1,
    verbose: VerboseOption = False,
) -> None:
    """Start Triton and the gateway and keep them running until Ctrl-C."""
    open_closed_streams()
    with show_errors(verbose=verbose):
        from orchestrator.server.options import ServerOptions

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
            admin_key=admin_key or None,
            traces=traces,
            trace_rate=trace_rate,
            tritonserver=tritonserver,
            trust_network=trust_network,
        )
        if explicit and not admin_key:
            raise SettingsError(UNKNOWN_KEY)
        flags = GatewayFlags(
            http=gateway,
            grpc=gateway_grpc,
            metrics=gateway_metrics,
            keys=keys,
            no_keys=no_keys,
            certificate=certificate,
            private_key=private_key,
            audit=audit,
            processes=gateway_processes,
            limits=tuple(limit or ()),
        )
        run_services(options, None if no_gateway else flags)
