"""Starts Triton and the gateway as one service, and keeps both running."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path

from orchestrator.cli.gateway_flags import GatewayFlags
from orchestrator.cli.service_manager import report_ready
from orchestrator.cli.standard_streams import say
from orchestrator.cli.welcome import welcome
from orchestrator.cli.workshop import draw_canary
from orchestrator.errors import SettingsError
from orchestrator.host.canary import CANARY_FILES, has_canary
from orchestrator.serving.gateway import launcher
from orchestrator.serving.gateway.options import GatewayOptions
from orchestrator.serving.protocol.gateway_events import Event, TritonMoved
from orchestrator.serving.supervisor.local_server import keep_models
from orchestrator.serving.supervisor.models.model_repository import list_models
from orchestrator.serving.supervisor.models.plate_models import MODELS, ONE_MODEL
from orchestrator.serving.supervisor.models.repository_writer import canary_folder
from orchestrator.serving.supervisor.options import ServerOptions, fill_ports
from orchestrator.serving.supervisor.ports import ListenAddress
from orchestrator.serving.supervisor.preflight import check
from orchestrator.serving.supervisor.service_loop import ServiceSpec, supervise
from orchestrator.serving.supervisor.triton_server import Server, ignore
from orchestrator.serving.supervisor.triton_service import TritonService


def run_services(options: ServerOptions, flags: GatewayFlags | None) -> None:
    """Start Triton, and the gateway in front of it; keep both running until interrupted.

    Args:
        options: Triton's options; a port of 0 means any free port.
        flags: The gateway's options; None means Triton without a gateway.

    Raises:
        PlateError: They cannot be started; the message gives the reason.
    """
    keeps_ports = flags is None or bool(options.http_port)  # administrators look for Triton there
    options, gateway = check_services(options, flags)
    if gateway and options.is_made_here:
        draw_canary(options.weights, options.formats)
    with (
        suppress(KeyboardInterrupt),  # Ctrl-C stops them
        keep_models(options) as models,
    ):
        front = gateway and GatewayService(_with_canary(gateway, models))
        triton = TritonService(options, models, front.notify if front else ignore, keeps_ports)
        specs = [ServiceSpec("Triton", triton.start, triton.restart, Server.needs_restart)]
        if front:
            specs.append(ServiceSpec("the gateway", front.start))
        say("starting Triton ...", err=True)
        supervise(specs, on_ready=lambda: _report_ready(options, gateway))
    say("stopped", err=True)


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
    left_out = {*MODELS} - {*ONE_MODEL} if options.one_model else set()
    names = [name for folder in options.repositories for name in list_models(folder)]
    known = [name for name in names if name not in left_out]
    unknown = [name for name in gateway.models if name not in known]
    if unknown:
        raise SettingsError(f"model: wanted some of {', '.join(known)}, got {unknown[0]}")
    if not gateway.served:
        raise SettingsError(
            f"model: wanted --model NAME for each model that callers may reach, of "
            f"{', '.join(known)}, or --no-gateway for bare Triton; got neither"
        )


def _listening(gateway: GatewayOptions) -> Iterator[ListenAddress]:
    """Yield the addresses on which the gateway shall listen, with the options that set them."""
    yield ListenAddress("http_port", gateway.http.host, gateway.http.port)
    if gateway.grpc:
        yield ListenAddress("grpc_port", gateway.grpc.host, gateway.grpc.port)
    if gateway.metrics:
        host, port = gateway.metrics.host, gateway.metrics.port
        yield ListenAddress("metrics_port", host, port, "metrics_host")


def _with_canary(gateway: GatewayOptions, models: Path) -> GatewayOptions:
    """Return the options with the canary's folder; warn if there is no canary in it."""
    if not gateway.has_plates:
        return gateway
    folder = canary_folder(models)
    if not has_canary(folder):
        say(
            f"no {' and '.join(CANARY_FILES)} beside the weights: whether plates are read is not "
            "watched, only whether the models answer; docs/countries.md",
            err=True,
        )
    return replace(gateway, canary=folder)
