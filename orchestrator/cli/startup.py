"""Triton and the gateway as one service: checked, started, watched and announced."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.cli.gateway_flags import GatewayFlags
from orchestrator.cli.standard_streams import say
from orchestrator.errors import SettingsError
from orchestrator.gateway.options import Address, GatewayOptions
from orchestrator.protocol.gateway_events import Event, TritonMoved
from orchestrator.supervisor.rolling_restart import RollingTriton
from orchestrator.system.canary import CANARY_FILES, has_canary
from orchestrator.system.loopback import reach

if TYPE_CHECKING:  # its imports take long, and --help does not need them
    from orchestrator.gateway.launcher import Gateway
    from orchestrator.supervisor.options import ServerOptions
    from orchestrator.supervisor.ports import ListenAddress

STREET = "tests/data/street.jpg"
"""A picture for a first try."""


def run_services(options: ServerOptions, flags: GatewayFlags | None) -> None:
    """Start Triton, and the gateway in front of it; keep both running until interrupted.

    Args:
        options: Triton's options; a port of 0 means any free port.
        flags: The gateway's options; None means Triton without a gateway.

    Raises:
        PlateError: They cannot be started; the message gives the reason.
    """
    from orchestrator.cli.workshop import draw_canary
    from orchestrator.supervisor.layout import canary_folder
    from orchestrator.supervisor.local_server import keep_models
    from orchestrator.supervisor.service_loop import KeptService, keep_running
    from orchestrator.supervisor.triton_server import Server

    keeps_ports = flags is None or bool(options.http_port)  # administrators look for Triton there
    options, gateway = check_services(options, flags)
    if gateway and options.is_made_here:
        draw_canary(options.weights, options.formats)
    with suppress(KeyboardInterrupt), keep_models(options) as models:  # Ctrl-C stops them
        front = RunningGateway()
        tritons = RollingTriton(options, models, front.tell, keeps_ports)
        kept = [KeptService("Triton", tritons.start, tritons.renew, Server.is_worn)]
        if gateway:
            if gateway.has_plates:
                gateway = replace(gateway, canary=_find_canary(canary_folder(models)))
            kept.append(KeptService("the gateway", partial(front.start, gateway)))
        say("starting Triton ...", err=True)
        keep_running(kept, tell=lambda: say(welcome(options, gateway)))
    say("stopped", err=True)


class RunningGateway:
    """The running gateway, if there is one."""

    def __init__(self) -> None:
        self._gateway: Gateway | None = None
        self._moved: TritonMoved | None = None

    def start(self, options: GatewayOptions) -> Gateway:
        """Start a gateway, or its successor, in front of the Triton that now serves."""
        from orchestrator.gateway.launcher import start

        self._gateway = start(replace(options, **asdict(self._moved)) if self._moved else options)
        return self._gateway

    def tell(self, event: Event) -> None:
        """Report an event of Triton to the gateway."""
        if isinstance(event, TritonMoved):
            self._moved = event
        if self._gateway:
            self._gateway.send(event)


def _find_canary(folder: Path) -> Path:
    """Return the folder of the canary; warn of the consequences if there is none."""
    if not has_canary(folder):
        say(
            f"no {' and '.join(CANARY_FILES)} beside the weights: whether plates are read is not "
            "watched, only whether the models answer; docs/countries.md",
            err=True,
        )
    return folder


def check_services(
    options: ServerOptions, flags: GatewayFlags | None
) -> tuple[ServerOptions, GatewayOptions | None]:
    """Check that both can run on this machine, before an export, which takes long.

    Returns:
        Triton's options with addresses and ports; the gateway's options, or None without a gateway.

    Raises:
        PlateError: They cannot; the message gives the reason.
    """
    from orchestrator.supervisor.options import fill_ports
    from orchestrator.supervisor.ports import check_listening
    from orchestrator.supervisor.preflight import check

    if flags is None:
        return check(fill_ports(options)), None
    options = check(fill_ports(options, flags.ports))
    gateway = flags.to_options(options)
    _check_models(options, gateway)
    check_listening([*_listening(gateway), *options.listening])
    return options, gateway


def _check_models(options: ServerOptions, gateway: GatewayOptions) -> None:
    """Check that clients may call at least one model, and that all these models exist.

    Raises:
        SettingsError: No model was named, or one is in no repository.
    """
    from orchestrator.supervisor.models import list_models

    known = [name for folder in options.repositories for name in list_models(folder)]
    unknown = [name for name in gateway.models if name not in known]
    if unknown:
        raise SettingsError(f"model: wanted some of {', '.join(known)}, got {unknown[0]}")
    if not gateway.served:
        raise SettingsError(
            f"model: wanted --model NAME for each model that callers may reach, of "
            f"{', '.join(known)}, or --no-gateway for bare Triton; got neither"
        )


def _listening(gateway: GatewayOptions) -> Iterator[ListenAddress]:
    from orchestrator.supervisor.ports import ListenAddress

    yield ListenAddress("http_port", gateway.http.host, gateway.http.port)
    if gateway.grpc:
        yield ListenAddress("grpc_port", gateway.grpc.host, gateway.grpc.port)
    if gateway.metrics:
        yield ListenAddress(
            "metrics_port", gateway.metrics.host, gateway.metrics.port, "metrics_host"
        )


def welcome(options: ServerOptions, gateway: GatewayOptions | None) -> str:
    """Return the message for a service that is ready."""
    named = _name_gateway(options, gateway) if gateway else _name_triton(options)
    first = _first_steps(options, gateway)
    return "\n".join(["ready", *named, "", *first, "", "Ctrl-C stops all of it."])


def _name_gateway(options: ServerOptions, gateway: GatewayOptions) -> Iterator[str]:
    if gateway.has_plates:
        yield f"  page     {_url(gateway)}/"
        yield f"  REST     {_url(gateway)}/v1/recognize"
        yield f"  docs     {_url(gateway)}/docs"
    yield f"  KServe   {_reached(gateway.http)}"
    if gateway.grpc:
        yield f"  gRPC     {_reached(gateway.grpc)}"
    if gateway.metrics:
        yield f"  metrics  http://{_reached(gateway.metrics)}/metrics"
    if options.explicit:
        yield f"  admin    http://{options.http_url}/v2/repository, with PLATES_ADMIN_KEY"


def _name_triton(options: ServerOptions) -> Iterator[str]:
    yield "  bare Triton, without the gateway"
    http, grpc, metrics = (_reached(Address(one.host, one.port)) for one in options.listening)
    yield f"  HTTP     {http}"
    yield f"  gRPC     {grpc}"
    yield f"  metrics  http://{metrics}/metrics"


def _first_steps(options: ServerOptions, gateway: GatewayOptions | None) -> Iterator[str]:
    from orchestrator.supervisor.models import list_models
    from orchestrator.supervisor.repository import holds_plates

    if not holds_plates(options.repository):
        names = (name for folder in options.served_as_they_lie for name in list_models(folder))
        yield f"models: {', '.join(gateway.models if gateway else names)}"
        url = _url(gateway) if gateway else _reached(Address(options.host, options.http_port))
        yield f"Inputs and outputs of a model: curl {_header(gateway)}{url}/v2/models/NAME"
        return
    yield "Try it from another terminal:"
    url = _reached(Address(options.host, options.http_port))
    if gateway:
        yield f"  curl {_header(gateway)}--data-binary @{STREET} {_url(gateway)}/v1/recognize"
        url = _url(gateway) if gateway.certificate else _reached(gateway.http)
    wants_keys = gateway is not None and gateway.wants_keys
    variable, argument = ("PLATES_KEY=KEY ", ', key="KEY"') if wants_keys else ("", "")
    yield f"  {variable}.venv/bin/plates recognize {STREET} --url {url}"
    yield "or from Python:"
    yield "  from orchestrator import PlateClient"
    yield f'  print(PlateClient("{url}"{argument}).recognize("{STREET}").to_dataframe())'


def _header(gateway: GatewayOptions | None) -> str:
    return "-H 'X-API-Key: KEY' " if gateway and gateway.wants_keys else ""


def _url(gateway: GatewayOptions) -> str:
    return f"{'https' if gateway.certificate else 'http'}://{_reached(gateway.http)}"


def _reached(address: Address) -> str:
    return f"{reach(address.host)}:{address.port}"
