"""Starts Triton and the gateway as one service, keeps both running, and says when it is ready."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path

from orchestrator.cli.gateway_flags import GatewayFlags
from orchestrator.cli.standard_streams import say
from orchestrator.cli.workshop import draw_canary
from orchestrator.contract import SHM
from orchestrator.errors import SettingsError
from orchestrator.host.canary import CANARY_FILES, has_canary
from orchestrator.host.loopback import reach
from orchestrator.serving.gateway import launcher
from orchestrator.serving.gateway.options import Address, GatewayOptions
from orchestrator.serving.protocol.gateway_events import Event, TritonMoved
from orchestrator.serving.supervisor.local_server import keep_folder, keep_models
from orchestrator.serving.supervisor.models.model_repository import list_models
from orchestrator.serving.supervisor.models.plate_models import (
    MODELS,
    ONE_MODEL,
    holds_plates,
    tells_countries,
)
from orchestrator.serving.supervisor.models.repository_writer import canary_folder
from orchestrator.serving.supervisor.options import ServerOptions, fill_ports
from orchestrator.serving.supervisor.ports import ListenAddress
from orchestrator.serving.supervisor.preflight import check
from orchestrator.serving.supervisor.service_loop import ServiceSpec, restart_requests, supervise
from orchestrator.serving.supervisor.triton_server import Server, ignore
from orchestrator.serving.supervisor.triton_service import TritonService
from orchestrator.triton.metrics import VARIABLE as METRICS


def run_services(options: ServerOptions, flags: GatewayFlags | None) -> None:
    """Start Triton, and the gateway in front of it; keep both running until interrupted.

    Args:
        options: Triton's options; a port of 0 means any free port.
        flags: The gateway's options; None means Triton without a gateway.

    Raises:
        PlateError: They cannot be started; the message gives the reason.
    """
    keeps_ports = flags is None or bool(options.http_port)  # administrators look for Triton there
    with restart_requests():  # a service that starts, or ends, needs no restart
        options, gateway = check_services(options, flags)
        if gateway and options.is_made_here:
            draw_canary(options.weights, options.formats)
        with (
            suppress(KeyboardInterrupt),  # Ctrl-C stops them
            keep_models(options) as models,
            keep_folder("metrics-", SHM) as metrics,
        ):
            if gateway:
                gateway = replace(_fit_models(gateway, models), worker_metrics=metrics)
                options = replace(options, variables={**options.variables, METRICS: str(metrics)})
            front = gateway and GatewayService(gateway)
            triton = TritonService(options, models, front.notify if front else ignore, keeps_ports)
            specs = [ServiceSpec("Triton", triton.start, triton.restart, Server.needs_restart)]
            if front:
                specs.append(ServiceSpec("the gateway", front.start))
            logger.info("starting Triton ...")
            supervise(specs, on_ready=lambda: _report_ready(options, gateway))
    logger.info("stopped")


def _report_ready(options: ServerOptions, gateway: GatewayOptions | None) -> None:
    """Tell systemd first: a reader of the message may interrupt at once."""
    report_ready()
    say(welcome(options, gateway))


def check_services(
    options: ServerOptions, flags: GatewayFlags | None
) -> tuple[ServerOptions, GatewayOptions | None]:
    """Check that both can run on this machine, before an export, which takes long.

    Returns:
        Triton's options with addresses and ports; the gateway's options, or None without a gateway.

    Raises:
        PlateError: They cannot; the message gives the reason.
    """
    if flags is None:
        return check(fill_ports(options)), None
    options = fill_ports(options, flags.ports)
    gateway = flags.to_options(options)
    _check_models(options, gateway)
    return check(options, [*_listening(gateway)]), gateway


class GatewayService:
    """The gateway of `plates serve`: starts it, and reports events of Triton to it.

    Args:
        options: Options of each gateway, until Triton moves to other ports.
    """

    def __init__(self, options: GatewayOptions) -> None:
        self._options = options
        self._gateway: launcher.Gateway | None = None

    def start(self) -> launcher.Gateway:
        """Start a gateway, or its successor, in front of the Triton that now serves."""
        self._gateway = launcher.start(self._options)
        return self._gateway

    def notify(self, event: Event) -> None:
        """Report an event of Triton to the gateway."""
        if isinstance(event, TritonMoved):
            self._options = replace(self._options, **asdict(event))
        if self._gateway:
            self._gateway.send(event)


def _check_models(options: ServerOptions, gateway: GatewayOptions) -> None:
    """Check that clients may call at least one model, and that all these models exist.

    Raises:
        SettingsError: No model was named, or one is in no repository.
    """
    omitted_models = {*MODELS} - {*ONE_MODEL} if options.one_model else set()
    names = [name for folder in options.repositories for name in list_models(folder)]
    available_models = [name for name in names if name not in omitted_models]
    unknown_models = [name for name in gateway.models if name not in available_models]
    if unknown_models:
        raise SettingsError(
            f"model: wanted some of {', '.join(available_models)}, got {unknown_models[0]}"
        )
    if not gateway.served_models:
        raise SettingsError(
            f"model: wanted --model NAME for each model that callers may reach, of "
            f"{', '.join(available_models)}, or --no-gateway for bare Triton; got neither"
        )


def _listening(gateway: GatewayOptions) -> Iterator[ListenAddress]:
    """Yield the addresses on which the gateway shall listen, with the options that set them."""
    yield ListenAddress("http_port", gateway.http.host, gateway.http.port)
    if gateway.grpc:
        yield ListenAddress("grpc_port", gateway.grpc.host, gateway.grpc.port)
    if gateway.metrics:
        host, port = gateway.metrics.host, gateway.metrics.port
        yield ListenAddress("metrics_port", host, port, "metrics_host")


def _fit_models(gateway: GatewayOptions, models: Path) -> GatewayOptions:
    """Return the options for the models of a repository; warn if there is no canary in it."""
    if not gateway.has_plates:
        return gateway
    folder = canary_folder(models)
    if not has_canary(folder):
        logger.warning(
            "no %s beside the weights: whether plates are read is not watched, only whether the "
            "models answer; docs/countries.md",
            " and ".join(CANARY_FILES),
        )
    return replace(gateway, canary=folder, has_countries=tells_countries(models))


SOCKET = "NOTIFY_SOCKET"
"""The variable that systemd sets for a unit with `Type=notify`: the address of its socket."""
READY = b"READY=1"

logger = logging.getLogger(__name__)


def report_ready(environ: Mapping[str, str] = os.environ) -> None:
    """Tell systemd that the service is ready; without systemd, do nothing.

    A socket that cannot be reached is logged: the service itself can work without it.

    Args:
        environ: The environment. In the address, a leading @ stands for an abstract socket.
    """
    address = environ.get(SOCKET, "")
    if not address:
        return
    if address.startswith("@"):
        address = "\0" + address[1:]
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as connection:
            connection.sendto(READY, address)
    except OSError as error:
        logger.warning("systemd was not told that the service is ready: %s", error.strerror)


STREET = "tests/data/street.jpg"
"""A picture for a first try."""


def welcome(options: ServerOptions, gateway: GatewayOptions | None) -> str:
    """Return the message for a service that is ready."""
    addresses = _name_gateway(options, gateway) if gateway else _name_triton(options)
    first_steps = _first_steps(options, gateway)
    return "\n".join(["ready", *addresses, "", *first_steps, "", "Ctrl-C stops all of it."])


def _name_gateway(options: ServerOptions, gateway: GatewayOptions) -> Iterator[str]:
    if gateway.has_plates:
        yield f"  page     {_url(gateway)}/"
        yield f"  REST     {_url(gateway)}/v1/recognize"
        yield f"  docs     {_url(gateway)}/docs"
        if gateway.cameras:
            yield f"  live     {_url(gateway)}/live"
    yield f"  KServe   {_reach(gateway.http)}"
    if gateway.grpc:
        yield f"  gRPC     {_reach(gateway.grpc)}"
    if gateway.metrics:
        yield f"  metrics  http://{_reach(gateway.metrics)}/metrics"
    if options.explicit:
        yield f"  admin    http://{options.http_url}/v2/repository, with PLATES_ADMIN_KEY"


def _name_triton(options: ServerOptions) -> Iterator[str]:
    yield "  bare Triton, without the gateway"
    http, grpc, metrics = (
        _reach(Address(listener.host, listener.port)) for listener in options.listening
    )
    yield f"  HTTP     {http}"
    yield f"  gRPC     {grpc}"
    yield f"  metrics  http://{metrics}/metrics"


def _first_steps(options: ServerOptions, gateway: GatewayOptions | None) -> Iterator[str]:
    if not holds_plates(options.repository):
        names = (name for folder in options.served_as_they_lie for name in list_models(folder))
        yield f"models: {', '.join(gateway.models if gateway else names)}"
        url = _url(gateway) if gateway else _reach(Address(options.host, options.http_port))
        yield f"Inputs and outputs of a model: curl {_header(gateway)}{url}/v2/models/NAME"
        return
    yield "Try it from another terminal:"
    url = _reach(Address(options.host, options.http_port))
    if gateway:
        yield f"  curl {_header(gateway)}--data-binary @{STREET} {_url(gateway)}/v1/recognize"
        url = _url(gateway) if gateway.certificate else _reach(gateway.http)
    wants_keys = gateway is not None and gateway.wants_keys
    variable, argument = ("PLATES_KEY=KEY ", ', key="KEY"') if wants_keys else ("", "")
    yield f"  {variable}.venv/bin/plates recognize {STREET} --url {url}"
    yield "or from Python:"
    yield "  from orchestrator import PlateClient"
    yield f'  print(PlateClient("{url}"{argument}).recognize("{STREET}").to_dataframe())'


def _header(gateway: GatewayOptions | None) -> str:
    return "-H 'X-API-Key: KEY' " if gateway and gateway.wants_keys else ""


def _url(gateway: GatewayOptions) -> str:
    return f"{'https' if gateway.certificate else 'http'}://{_reach(gateway.http)}"


def _reach(address: Address) -> str:
    return f"{reach(address.host)}:{address.port}"
