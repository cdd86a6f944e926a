"""The options of `plates serve` for the gateway."""

from __future__ import annotations

import ssl
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.cli.flags import ADDRESSES_PANEL, CALLERS_PANEL, TRITON_PANEL
from orchestrator.errors import SettingsError
from orchestrator.host.disk_files import check_writable
from orchestrator.host.loopback import is_own
from orchestrator.host.resources import usable_memory
from orchestrator.serving.gateway.options import Address, GatewayOptions, Limits
from orchestrator.serving.gateway.policy.api_keys import read_keys
from orchestrator.serving.gateway.policy.memory_limits import fit

if TYPE_CHECKING:  # its imports take long, and --help does not need them
    from orchestrator.serving.supervisor.options import ServerOptions

CALLS_A_PICTURE = 4
"""Calls that Triton gets at once for each picture that it processes. It is so many that a next call
is always waiting, and so few that a call of a gate need not wait behind an archive."""
HTTP_PORT, GRPC_PORT, METRICS_PORT = 8000, 8001, 8002
"""Ports of the service, with the gateway or without."""

MetricsHostOption = Annotated[
    str,
    typer.Option(
        rich_help_panel=ADDRESSES_PANEL,
        help="Address for metrics and probes, which need no key and have no TLS.",
    ),
]
NoGrpcOption = Annotated[
    bool,
    typer.Option("--no-grpc", rich_help_panel=ADDRESSES_PANEL, help="Serve HTTP without gRPC."),
]
NoGatewayOption = Annotated[
    bool,
    typer.Option(
        "--no-gateway",
        rich_help_panel=TRITON_PANEL,
        help="Serve bare Triton on these ports, for benchmarks and debugging.",
    ),
]
ModelOption = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        metavar="NAME",
        rich_help_panel=CALLERS_PANEL,
        help="A model of your own that callers may reach, over KServe v2; repeatable.",
    ),
]
AllowedHostOption = Annotated[
    list[str] | None,
    typer.Option(
        "--allowed-host",
        metavar="NAME",
        rich_help_panel=CALLERS_PANEL,
        help="A name of this service in the Host header of requests; repeatable.",
    ),
]
CorsOriginOption = Annotated[
    list[str] | None,
    typer.Option(
        "--cors-origin",
        metavar="ORIGIN",
        rich_help_panel=CALLERS_PANEL,
        help="A site whose pages may call this service: https://shop.example; repeatable.",
    ),
]
TrustedProxyOption = Annotated[
    list[str] | None,
    typer.Option(
        "--trusted-proxy",
        metavar="NETWORK",
        rich_help_panel=CALLERS_PANEL,
        help="Address or network of a proxy before this service. The addresses of its clients "
        "are taken from X-Forwarded-For; repeatable.",
    ),
]
KeysOption = Annotated[
    Path | None,
    typer.Option(
        "--keys",
        envvar="PLATES_KEYS",
        metavar="FILE",
        rich_help_panel=CALLERS_PANEL,
        help="File of API keys; each request needs one of them.",
    ),
]
NoKeysOption = Annotated[
    bool,
    typer.Option(
        "--no-keys",
        rich_help_panel=CALLERS_PANEL,
        help="Serve clients on other machines without a key.",
    ),
]
CertificateOption = Annotated[
    Path | None,
    typer.Option(
        "--certificate",
        metavar="FILE",
        rich_help_panel=CALLERS_PANEL,
        help="TLS certificate and its chain, PEM.",
    ),
]
PrivateKeyOption = Annotated[
    Path | None,
    typer.Option(
        "--private-key",
        metavar="FILE",
        rich_help_panel=CALLERS_PANEL,
        help="The certificate's key, PEM.",
    ),
]
AuditOption = Annotated[
    Path | None,
    typer.Option(
        "--audit",
        metavar="FILE",
        rich_help_panel=CALLERS_PANEL,
        help="File of the audit log; without it, standard output.",
    ),
]
ProcessesOption = Annotated[
    int,
    typer.Option(
        "--gateway-processes",
        min=1,
        max=64,
        rich_help_panel=CALLERS_PANEL,
        help="Number of gateway processes.",
    ),
]
CamerasOption = Annotated[
    Path | None,
    typer.Option(
        "--cameras",
        metavar="FILE",
        rich_help_panel=CALLERS_PANEL,
        help="File of cameras, as for `plates watch`: serves their passes, lists and pages.",
    ),
]
LimitOption = Annotated[
    list[str] | None,
    typer.Option(
        "--limit",
        metavar="NAME=VALUE",
        rich_help_panel=CALLERS_PANEL,
        help="Limit of requests; repeatable: docs/gateway.md.",
    ),
]


@dataclass(frozen=True)
class GatewayFlags:
    """The gateway's options from the command line; see `GatewayOptions`.

    Attributes:
        host: Address or name to listen on.
        http_port: HTTP port; here and below, 0 means any free port.
        grpc_port: gRPC port; None means no gRPC.
        metrics_host: Address or name for metrics and probes.
        models: Further models that clients may call.
        allowed_hosts: Further names that a Host header may have.
        cors_origins: Other sites whose pages may call the gateway.
        trusted_proxies: Addresses, or networks, of proxies before the gateway.
    """

    host: str = GatewayOptions.http.host
    http_port: int = HTTP_PORT
    grpc_port: int | None = GRPC_PORT
    metrics_host: str = GatewayOptions.http.host
    metrics_port: int = METRICS_PORT
    models: tuple[str, ...] = ()
    allowed_hosts: tuple[str, ...] = ()
    cors_origins: tuple[str, ...] = ()
    trusted_proxies: tuple[str, ...] = ()
    keys: Path | None = None
    no_keys: bool = False
    certificate: Path | None = None
    private_key: Path | None = None
    audit: Path | None = None
    processes: int = 1
    cameras: Path | None = None
    limits: tuple[str, ...] = ()

    @property
    def ports(self) -> tuple[int, ...]:
        """The ports that are given."""
        return (self.http_port, self.grpc_port or 0, self.metrics_port)

    def to_options(self, triton: ServerOptions) -> GatewayOptions:
        """Return the options of a gateway in front of a server.

        Raises:
            ServerError: A host is invalid.
            SettingsError: An option or a file is invalid, or other machines are served without any
                setting for keys.
        """
        from orchestrator.serving.supervisor.plate_models import holds_plates
        from orchestrator.serving.supervisor.triton_service import locate

        http, grpc, metrics = self._find_addresses(triton)
        self._check_keys(http)
        self._check_origins()
        self._check_proxies()
        self._check_files()
        return GatewayOptions(
            **asdict(locate(triton)),
            triton_headers=triton.caller_headers,
            has_plates=holds_plates(triton.repository),
            models=self.models,
            http=http,
            grpc=grpc,
            metrics=metrics,
            allowed_hosts=self.allowed_hosts,
            cors_origins=self.cors_origins,
            trusted_proxies=self.trusted_proxies,
            keys=_absolute(self.keys),
            wants_keys=self.keys is not None,
            certificate=_absolute(self.certificate),
            private_key=_absolute(self.private_key),
            audit=_absolute(self.audit),
            processes=self.processes,
            cameras=_absolute(self.cameras),
            limits=self._fit_limits(triton),
        )

    def _fit_limits(self, triton: ServerOptions) -> Limits:
        """Return the limits of requests, as far as this machine's cores and memory allow them."""
        from orchestrator.serving.supervisor.plate_models import count_ours
        from orchestrator.serving.supervisor.preflight import shared_bytes_of_call

        capacity = triton.capacity()
        limits = Limits().updated(self.limits)
        if not limits.calls:
            limits = replace(limits, calls=CALLS_A_PICTURE * capacity.pictures)
        workers, shared_bytes = count_ours(capacity), shared_bytes_of_call(triton)
        return fit(limits, usable_memory(), workers, self.processes, shared_bytes)

    def _find_addresses(self, triton: ServerOptions) -> tuple[Address, Address | None, Address]:
        """Return the addresses to listen on for HTTP, gRPC and metrics.

        Raises:
            ServerError: A host is invalid.
        """
        from orchestrator.serving.supervisor.ports import address_of, free_ports

        host = address_of(self.host)
        taken = {one.port for one in triton.listening} | {*self.ports}
        free = (port for port in free_ports(3 + len(taken)) if port not in taken)
        return (
            Address(host, self.http_port or next(free)),
            None if self.grpc_port is None else Address(host, self.grpc_port or next(free)),
            Address(address_of(self.metrics_host, "metrics_host"), self.metrics_port or next(free)),
        )

    def _check_keys(self, address: Address) -> None:
        if self.keys and self.no_keys:
            raise SettingsError("keys: wanted --keys FILE or --no-keys, got both")
        if not is_own(address.host) and not self.keys and not self.no_keys:
            raise SettingsError(
                f"keys: others can reach {address}; make API keys and name their file with "
                "--keys FILE, or let anybody call with --no-keys"
            )

    def _check_origins(self) -> None:
        from orchestrator.serving.gateway.http.origins import is_origin

        for text in self.cors_origins:
            if not is_origin(text):
                raise SettingsError(
                    "cors_origin: wanted an origin as https://shop.example, without a path or "
                    f"a last slash, got {text!r}"
                )

    def _check_proxies(self) -> None:
        from orchestrator.serving.gateway.policy.trusted_proxies import TrustedProxies

        try:
            TrustedProxies(self.trusted_proxies)
        except ValueError as error:
            raise SettingsError(
                f"trusted_proxy: wanted an address or a network as 10.0.0.0/8, got {error}"
            ) from error

    def _check_files(self) -> None:
        if self.keys is not None:
            read_keys(self.keys)
        if self.cameras is not None:
            _check_cameras(self.cameras)
        if self.audit is not None:
            check_writable("audit", self.audit)
        _check_pair(self.certificate, self.private_key)


def _absolute(file: Path | None) -> Path | None:
    return file and file.absolute()


def _check_cameras(file: Path) -> None:
    """Check the file now: a running service goes on without a file that has become wrong."""
    from orchestrator.serving.gateway.entry_points import CHECK_CAMERAS, load_entry_point

    load_entry_point(CHECK_CAMERAS)(file)


def _check_pair(certificate: Path | None, private_key: Path | None) -> None:
    if (certificate is None) != (private_key is None):
        raise SettingsError("TLS: wanted --certificate and --private-key, got one of them")
    if certificate is None:
        return
    try:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, private_key, password="")  # without this it would ask
    except OSError as error:  # errors of ssl are such, too
        raise SettingsError(
            f"TLS: wanted a certificate and its key, unencrypted, got {certificate} and "
            f"{private_key}: {error.strerror or error}"
        ) from error
