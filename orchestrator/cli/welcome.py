"""The message of `plates serve` when it is ready: its addresses, and the first calls to try."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.host.loopback import reach
from orchestrator.serving.gateway.options import Address, GatewayOptions
from orchestrator.serving.supervisor.models.model_repository import list_models
from orchestrator.serving.supervisor.models.plate_models import holds_plates
from orchestrator.serving.supervisor.options import ServerOptions

STREET = "tests/data/street.jpg"
"""A picture for a first try."""


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
        if gateway.cameras:
            yield f"  live     {_url(gateway)}/live"
    yield f"  KServe   {_reached(gateway.http)}"
    if gateway.grpc:
        yield f"  gRPC     {_reached(gateway.grpc)}"
    if gateway.metrics:
        yield f"  metrics  http://{_reached(gateway.metrics)}/metrics"
    if options.explicit:
        yield f"  admin    http://{options.http_url}/v2/repository, with PLATES_ADMIN_KEY"


def _name_triton(options: ServerOptions) -> Iterator[str]:
    yield "  bare Triton, without the gateway"
    http, grpc, metrics = (
        _reached(Address(listener.host, listener.port)) for listener in options.listening
    )
    yield f"  HTTP     {http}"
    yield f"  gRPC     {grpc}"
    yield f"  metrics  http://{metrics}/metrics"


def _first_steps(options: ServerOptions, gateway: GatewayOptions | None) -> Iterator[str]:
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
