"""The command `plates serve`."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Annotated, Any

import typer

from orchestrator.cli.flags import (
    ADDRESSES_PANEL,
    TRITON_PANEL,
    CudaGraphsOption,
    CudaPoolOption,
    DecodeOnGpuOption,
    Device,
    DeviceOption,
    EngineOption,
    FormatsOption,
    InstancesOption,
    MpsOption,
    PicturesOnCpuOption,
    PicturesOption,
    PortOption,
    RepositoryOption,
    ThreadsOption,
    VerboseOption,
    WeightsOption,
    show_errors,
)
from orchestrator.cli.gateway_flags import (
    GRPC_PORT,
    HTTP_PORT,
    METRICS_PORT,
    AllowedHostOption,
    AuditOption,
    CamerasOption,
    CertificateOption,
    CorsOriginOption,
    GatewayFlags,
    KeysOption,
    LimitOption,
    MetricsHostOption,
    ModelOption,
    NoGatewayOption,
    NoGrpcOption,
    NoKeysOption,
    PrivateKeyOption,
    ProcessesOption,
    TrustedProxyOption,
)
from orchestrator.cli.standard_streams import open_closed_streams
from orchestrator.errors import SettingsError
from orchestrator.networks.engines import Engine
from orchestrator.serving.supervisor.capacity import CUDA_POOL_MB

# Heavy modules are imported when a command runs, so that --help is quick.

UNKNOWN_KEY = (
    "explicit: wanted PLATES_ADMIN_KEY, got none: administrators must send this key to load models"
)


def serve(
    *,
    host: Annotated[
        str, typer.Option(rich_help_panel=ADDRESSES_PANEL, help="Address to listen on.")
    ] = GatewayFlags.host,
    http_port: PortOption = HTTP_PORT,
    grpc_port: PortOption = GRPC_PORT,
    metrics_host: MetricsHostOption = GatewayFlags.metrics_host,
    metrics_port: PortOption = METRICS_PORT,
    no_grpc: NoGrpcOption = False,
    model: ModelOption = None,
    allowed_host: AllowedHostOption = None,
    cors_origin: CorsOriginOption = None,
    trusted_proxy: TrustedProxyOption = None,
    keys: KeysOption = None,
    no_keys: NoKeysOption = False,
    certificate: CertificateOption = None,
    private_key: PrivateKeyOption = None,
    audit: AuditOption = None,
    gateway_processes: ProcessesOption = 1,
    cameras: CamerasOption = None,
    limit: LimitOption = None,
    no_gateway: NoGatewayOption = False,
    trust_network: Annotated[
        bool,
        typer.Option(
            "--trust-network",
            rich_help_panel=TRITON_PANEL,
            help="With --no-gateway: every host on this network may call Triton without a key.",
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
    beside: Annotated[
        list[Path] | None,
        typer.Option(
            rich_help_panel=TRITON_PANEL,
            help="A further repository whose models are served, too; repeatable.",
        ),
    ] = None,
    weights: WeightsOption = None,
    formats: FormatsOption = None,
    explicit: Annotated[
        bool,
        typer.Option(
            "--explicit",
            rich_help_panel=TRITON_PANEL,
            help="Serve the repository as it lies, one that `plates export --out` wrote or any "
            "other; models are loaded and unloaded over Triton's repository API.",
        ),
    ] = False,
    admin_key: Annotated[
        str | None,
        typer.Option(
            envvar="PLATES_ADMIN_KEY",
            rich_help_panel=TRITON_PANEL,
            help="Key of Triton's administrators: docs/operations.md. The variable hides it from "
            "other users, who can read command lines.",
        ),
    ] = None,
    admin_port: Annotated[
        int,
        typer.Option(
            min=0,
            max=65535,
            metavar="PORT",
            rich_help_panel=TRITON_PANEL,
            help="Loopback port where administrators reach Triton over HTTP. 0: any free port.",
        ),
    ] = 0,
    tritonserver: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=TRITON_PANEL,
            help="Program of an installed Triton; without it, the embedded one runs.",
        ),
    ] = None,
    traces: Annotated[
        str,
        typer.Option(
            metavar="URL",
            rich_help_panel=TRITON_PANEL,
            help="OpenTelemetry collector to send traces to: http://host:4318/v1/traces.",
        ),
    ] = "",
    trace_rate: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="COUNT",
            rich_help_panel=TRITON_PANEL,
            help="One of this many requests is traced.",
        ),
    ] = 1,
    verbose: VerboseOption = False,
) -> None:
    """Start Triton and the gateway and keep them running until Ctrl-C."""
    open_closed_streams()
    with show_errors(verbose=verbose):
        from orchestrator.cli.startup import run_services
        from orchestrator.serving.supervisor.options import ServerOptions

        bare = {"host": host, "http_port": http_port, "grpc_port": grpc_port}
        where = {**bare, "metrics_port": metrics_port} if no_gateway else _behind(admin_port)
        options = ServerOptions.given(
            repository=model_repository,
            beside=tuple(beside or ()),
            weights=weights,
            formats=formats,
            **where,
            device=device.value,
            engine=engine,
            threads=threads,
            instances=instances,
            pictures=pictures,
            pictures_on_cpu=pictures_on_cpu,
            cuda_graphs=cuda_graphs,
            decode_on_gpu=decode_on_gpu,
            mps=mps,
            cuda_pool_mb=cuda_pool_mb,
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
            host=host,
            http_port=http_port,
            grpc_port=None if no_grpc else grpc_port,
            metrics_host=metrics_host,
            metrics_port=metrics_port,
            models=tuple(model or ()),
            allowed_hosts=tuple(allowed_host or ()),
            cors_origins=tuple(cors_origin or ()),
            trusted_proxies=tuple(trusted_proxy or ()),
            keys=keys,
            no_keys=no_keys,
            certificate=certificate,
            private_key=private_key,
            audit=audit,
            processes=gateway_processes,
            cameras=cameras,
            limits=tuple(limit or ()),
        )
        run_services(options, None if no_gateway else flags)


def _behind(admin_port: int) -> dict[str, Any]:
    """Return the options of a Triton that only the gateway may call."""
    ports = {"http_port": admin_port, "grpc_port": 0, "metrics_port": 0}
    return {"caller_key": secrets.token_urlsafe(), **ports}
