"""The options of `plates serve` for the gateway."""

from __future__ import annotations

import ssl
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from orchestrator.errors import SettingsError
from orchestrator.host.disk_files import check_writable
from orchestrator.host.loopback import is_own
from orchestrator.host.resources import usable_memory
from orchestrator.serving.gateway.caller_options import CALLERS, CallerOptions
from orchestrator.serving.gateway.options import Address, GatewayOptions, Limits
from orchestrator.serving.gateway.policy.api_keys import read_keys
from orchestrator.serving.gateway.policy.memory_limits import fit
from orchestrator.serving.supervisor.models.plate_models import holds_plates, weigh_ours
from orchestrator.serving.supervisor.options import ServerOptions
from orchestrator.serving.supervisor.ports import address_of, free_ports

CALLS_A_PICTURE = 4
"""Calls that Triton gets at once for each picture that it processes. It is so many that a next call
is always waiting, and so few that a call of a gate need not wait behind an archive."""
HTTP_PORT, GRPC_PORT, METRICS_PORT = 8000, 8001, 8002
"""Ports of the service, with the gateway or without."""
ADDRESSES = partial(typer.Option, rich_help_panel="Addresses")
PORT = ADDRESSES(min=0, max=65535, metavar="PORT", help="0: any free port.")


@dataclass(frozen=True)
class AddressFlags:
    """The addresses at which the service listens.

    Host names are allowed; port 0 means any free port.
    """

    host: Annotated[str, ADDRESSES(help="Address to listen on.")] = GatewayOptions.http.host
    http_port: Annotated[int, PORT] = HTTP_PORT
    grpc_port: Annotated[int, PORT] = GRPC_PORT
    metrics_host: Annotated[
        str,
        ADDRESSES(help="Address for metrics and probes, which need no key and have no TLS."),
    ] = GatewayOptions.http.host
    metrics_port: Annotated[int, PORT] = METRICS_PORT
    no_grpc: Annotated[bool, ADDRESSES("--no-grpc", help="Serve HTTP without gRPC.")] = False


@dataclass(frozen=True)
class GatewayFlags(CallerOptions, AddressFlags):
    """The gateway's options from the command line."""

    limits: Annotated[
        tuple[str, ...],
        CALLERS(
            "--limit",
            metavar="NAME=VALUE",
            help="Limit of requests; repeatable: docs/gateway.md.",
        ),
    ] = ()

    @property
    def ports(self) -> tuple[int, ...]:
        """The ports of the command line; 0 is any free port."""
        return (self.http_port, 0 if self.no_grpc else self.grpc_port, self.metrics_port)

    def to_options(self, triton: ServerOptions) -> GatewayOptions:
        """Return the options of a gateway in front of a server.

        Raises:
            ServerError: A host is invalid.
            SettingsError: An option or a file is invalid, or other machines are served without any
                setting for keys.
        """
        from orchestrator.serving.supervisor.triton_service import locate

        http, grpc, metrics = self._find_addresses(triton)
        self._check_keys(http)
        self._check_names()
        self._check_proxies()
        self._check_files()
        return GatewayOptions(
            **self.caller_options(),
            **asdict(locate(triton)),
            triton_headers=triton.caller_headers,
            has_plates=holds_plates(triton.repository),
            http=http,
            grpc=grpc,
            metrics=metrics,
            wants_keys=self.keys is not None,
            limits=self._fit_limits(triton),
        )

    def caller_options(self) -> dict[str, Any]:
        """Return the options of `CallerOptions`; a gateway's process has another working folder."""
        values = {field.name: getattr(self, field.name) for field in fields(CallerOptions)}
        return {
            name: value.absolute() if isinstance(value, Path) else value
            for name, value in values.items()
        }

    def _fit_limits(self, triton: ServerOptions) -> Limits:
        """Return the limits of requests, as far as this machine's cores and memory allow them."""
        from orchestrator.serving.supervisor.preflight import shared_bytes_of_call

        capacity = triton.capacity()
        limits = Limits().updated(self.limits)
        if not limits.calls:
            limits = replace(limits, calls=CALLS_A_PICTURE * capacity.pictures)
        workers, shared_bytes = weigh_ours(capacity), shared_bytes_of_call(triton)
        return fit(limits, usable_memory(), workers, self.processes, shared_bytes)

    def _find_addresses(self, triton: ServerOptions) -> tuple[Address, Address | None, Address]:
        """Return the addresses to listen on for HTTP, gRPC and metrics.

        Raises:
            ServerError: A host is invalid.
        """
        host, metrics_host = address_of(self.host), address_of(self.metrics_host, "metrics_host")
        taken_ports = {address.port for address in triton.listening} | {*self.ports}
        ports = (port for port in free_ports(3 + len(taken_ports)) if port not in taken_ports)
        return (
            Address(host, self.http_port or next(ports)),
            None if self.no_grpc else Address(host, self.grpc_port or next(ports)),
            Address(metrics_host, self.metrics_port or next(ports)),
        )

    def _check_keys(self, address: Address) -> None:
        if self.keys and self.no_keys:
            raise SettingsError("keys: wanted --keys FILE or --no-keys, got both")
        if not is_own(address.host) and not self.keys and not self.no_keys:
            raise SettingsError(
                f"keys: others can reach {address}; make API keys and name their file with "
                "--keys FILE, or let anybody call with --no-keys"
            )

    def _check_names(self) -> None:
        """Refuse names that no browser sends: they would have no effect, or lock all callers out.

        Raises:
            SettingsError: There is one, or the address of the source is no link.
        """
        from orchestrator.serving.gateway.http.origins import is_host, is_origin

        for text in self.cors_origins:
            if not is_origin(text):
                raise SettingsError(
                    "cors_origin: wanted an origin as browsers write it, https://shop.example, in "
                    "small letters, without a path, a last slash or the usual port, "
                    f"got {text!r}"
                )
        for text in self.allowed_hosts:
            if not is_host(text.lower()):
                raise SettingsError(
                    f"allowed_host: wanted a name as shop.example, without a port, got {text!r}"
                )
        if self.source_url and not self.source_url.startswith(("http://", "https://")):
            raise SettingsError(
                f"source_url: wanted an address as https://code.example, got {self.source_url!r}"
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
