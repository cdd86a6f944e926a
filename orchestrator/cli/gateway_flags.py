"""The options of `plates serve` that say how the gateway is started."""

from __future__ import annotations

import re
import ssl
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.cli.tritons import moved_to
from orchestrator.errors import SettingsError
from orchestrator.gateway.fitting import fit
from orchestrator.gateway.keys import read_keys
from orchestrator.gateway.options import Address, GatewayOptions, Limits
from orchestrator.loopback import is_own
from orchestrator.memory import usable_memory

if TYPE_CHECKING:  # what it imports takes its time, and --help has none
    from orchestrator.server.options import ServerOptions

CALLS_A_PICTURE = 4
"""Handed to Triton at once for each picture that it has in work: so many that the next is always
there, so few that a gate overtakes an archive."""
PICTURES_ON_A_GPU = 4
"""In work by our config.pbtxt."""
CALLED = ("gateway", "gateway_grpc")
"""Options whose addresses callers use."""
ADDRESS = re.compile(r"(?:\[([^][]+)\]|([^][:]+)):(\d{1,6})")

GatewayOption = Annotated[
    str, typer.Option("--gateway", metavar="HOST:PORT", help="Where the gateway listens.")
]
GatewayGrpcOption = Annotated[
    str,
    typer.Option("--gateway-grpc", metavar="HOST:PORT", help="The same for gRPC; empty: nowhere."),
]
GatewayMetricsOption = Annotated[
    str,
    typer.Option(
        "--gateway-metrics", metavar="HOST:PORT", help="A port of their own for metrics of both."
    ),
]
NoGatewayOption = Annotated[bool, typer.Option("--no-gateway", help="Start Triton alone.")]
KeysOption = Annotated[
    Path | None,
    typer.Option("--keys", envvar="PLATES_KEYS", help="API keys, one of which each call needs."),
]
NoKeysOption = Annotated[
    bool, typer.Option("--no-keys", help="Answer whoever reaches the gateway, from elsewhere too.")
]
CertificateOption = Annotated[
    Path | None, typer.Option("--certificate", help="TLS certificate and those that sign it, PEM.")
]
PrivateKeyOption = Annotated[
    Path | None, typer.Option("--private-key", help="The certificate's key, PEM.")
]
AuditOption = Annotated[
    Path | None, typer.Option("--audit", help="File of a line for each call; standard output.")
]
ProcessesOption = Annotated[
    int, typer.Option("--gateway-processes", min=1, max=64, help="How many share the work.")
]
LimitOption = Annotated[
    list[str] | None,
    typer.Option("--limit", metavar="NAME=VALUE", help="What callers may ask for; repeatable."),
]


@dataclass(frozen=True)
class GatewayFlags:
    """What the command line says of the gateway; see `GatewayOptions`."""

    http: str = str(GatewayOptions.http)
    grpc: str = str(GatewayOptions.grpc)
    metrics: str = ""
    keys: Path | None = None
    no_keys: bool = False
    certificate: Path | None = None
    private_key: Path | None = None
    audit: Path | None = None
    processes: int = 1
    limits: tuple[str, ...] = ()

    def to_options(self, triton: ServerOptions) -> GatewayOptions:
        """Return how to start the gateway in front of a server.

        Raises:
            ServerError: A host is none.
            SettingsError: An option or a file is not what it should be, or nothing is said of keys
                where others are listened to.
        """
        addresses = self.parse_addresses()
        self._check_keys([addresses[name] for name in CALLED if name in addresses])
        self._check_files()
        return GatewayOptions(
            **asdict(moved_to(triton)),
            http=addresses["gateway"],
            grpc=addresses.get("gateway_grpc"),
            metrics=addresses.get("gateway_metrics"),
            keys=_absolute(self.keys),
            wants_keys=self.keys is not None,
            certificate=_absolute(self.certificate),
            private_key=_absolute(self.private_key),
            audit=_absolute(self.audit),
            processes=self.processes,
            limits=self._fit_limits(triton),
        )

    def _fit_limits(self, triton: ServerOptions) -> Limits:
        """Return what callers may ask for, as far as this machine's cores and memory allow it."""
        from orchestrator.server.capacity import Capacity
        from orchestrator.server.repository import count_ours

        capacity = triton.capacity() or Capacity(1, 1, PICTURES_ON_A_GPU)
        limits = Limits().updated(self.limits)
        if not limits.calls:
            limits = replace(limits, calls=CALLS_A_PICTURE * capacity.pictures)
        return fit(limits, usable_memory(), count_ours(capacity), self.processes)

    def parse_addresses(self) -> dict[str, Address]:
        """Return where to listen, by the option that says so.

        Raises:
            ServerError: A host is none.
            SettingsError: An option is no address.
        """
        texts = {"gateway": self.http, "gateway_grpc": self.grpc, "gateway_metrics": self.metrics}
        return {
            name: parse_address(name, text)
            for name, text in texts.items()
            if text or name == "gateway"
        }

    def _check_keys(self, addresses: list[Address]) -> None:
        if self.keys and self.no_keys:
            raise SettingsError("keys: wanted --keys FILE or --no-keys, got both")
        others = [str(one) for one in addresses if not is_own(one.host)]
        if others and not self.keys and not self.no_keys:
            raise SettingsError(
                f"keys: wanted to know who may call {others[0]}, which others can reach; make API "
                "keys and name their file with --keys FILE, or let anybody call with --no-keys"
            )

    def _check_files(self) -> None:
        if self.keys is not None:
            read_keys(self.keys)
        if self.audit is not None:
            _check_writable("audit", self.audit)
        _check_pair(self.certificate, self.private_key)


def parse_address(name: str, text: str) -> Address:
    """Read `host:port`; the host is a name, an IPv4 address or an IPv6 address in brackets.

    Raises:
        ServerError: There is no such host.
        SettingsError: It is something else.
    """
    found = ADDRESS.fullmatch(text)
    if not found:
        raise SettingsError(
            f"{name}: wanted HOST:PORT with an IPv6 address in brackets, got {text!r}"
        )
    from orchestrator.server.ports import address_of

    return Address(address_of(found[1] or found[2], name), int(found[3]))


def _absolute(file: Path | None) -> Path | None:
    return file and file.absolute()


def _check_writable(name: str, file: Path) -> None:
    try:
        with file.open("ab"):
            pass
    except OSError as error:
        raise SettingsError(f"{name}: {file} cannot be written: {error.strerror}") from error


def _check_pair(certificate: Path | None, private_key: Path | None) -> None:
    if (certificate is None) != (private_key is None):
        raise SettingsError("TLS: wanted --certificate and --private-key, got one of them")
    if certificate is None:
        return
    try:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, private_key, password="")  # else it would ask
    except OSError as error:  # also of ssl
        raise SettingsError(
            f"TLS: wanted a certificate and its key, unencrypted, got {certificate} and "
            f"{private_key}: {error.strerror or error}"
        ) from error
