"""The command `plates serve`."""

from __future__ import annotations

import secrets
from dataclasses import replace
from typing import Annotated, Any

from orchestrator.cli.flags import VerboseOption, show_errors
from orchestrator.cli.gateway_flags import GatewayFlags
from orchestrator.errors import SettingsError
from orchestrator.host.background_log import log_in_background
from orchestrator.host.option_fields import expand
from orchestrator.serving.supervisor.options import TRITON, ServerOptions

# Heavy modules are imported when a command runs, so that --help is quick.

UNKNOWN_KEY = (
    "explicit: wanted PLATES_ADMIN_KEY, got none: administrators must send this key to load models"
)


@expand
def serve(
    *,
    gateway: GatewayFlags,
    no_gateway: Annotated[
        bool,
        TRITON(
            "--no-gateway", help="Serve bare Triton on these ports, for benchmarks and debugging."
        ),
    ] = False,
    triton: ServerOptions,
    admin_key: Annotated[
        str,
        TRITON(
            envvar="PLATES_ADMIN_KEY",
            help="Key of Triton's administrators: docs/operations.md. The variable hides it from "
            "other users, who can read command lines.",
        ),
    ] = "",
    admin_port: Annotated[
        int,
        TRITON(
            min=0,
            max=65535,
            metavar="PORT",
            help="Loopback port where administrators reach Triton over HTTP. 0: any free port.",
        ),
    ] = 0,
    verbose: VerboseOption = False,
) -> None:
    """Start Triton and the gateway and keep them running until Ctrl-C."""
    with show_errors(verbose=verbose), log_in_background():
        from orchestrator.cli.startup import run_services

        if triton.explicit and not admin_key:
            raise SettingsError(UNKNOWN_KEY)
        if admin_key:
            triton = replace(triton, admin_key=admin_key)
        if no_gateway:
            run_services(replace(triton, **_public(gateway)), None)
        else:
            run_services(replace(triton, **_behind_gateway(admin_port)), gateway)


def _public(flags: GatewayFlags) -> dict[str, Any]:
    """Return the options of a Triton that serves on the gateway's addresses."""
    ports = {"grpc_port": flags.grpc_port, "metrics_port": flags.metrics_port}
    return {"host": flags.host, "http_port": flags.http_port, **ports}


def _behind_gateway(admin_port: int) -> dict[str, Any]:
    """Return the options of a Triton that only the gateway may call."""
    ports = {"http_port": admin_port, "grpc_port": 0, "metrics_port": 0}
    return {"caller_key": secrets.token_urlsafe(), **ports}
