"""Options of the gateway that are the same on the command line and in each of its processes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.host.option_fields import check_ranges

CALLERS = partial(typer.Option, rich_help_panel="Callers")


@dataclass(frozen=True)
class CallerOptions:
    """Options about callers, for the command line and for each process of the gateway."""

    models: Annotated[
        tuple[str, ...],
        CALLERS(
            "--model",
            metavar="NAME",
            help="A model of your own that callers may reach, over KServe v2; repeatable.",
        ),
    ] = ()
    allowed_hosts: Annotated[
        tuple[str, ...],
        CALLERS(
            "--allowed-host",
            metavar="NAME",
            help="A name of this service in the Host header of requests; repeatable.",
        ),
    ] = ()
    cors_origins: Annotated[
        tuple[str, ...],
        CALLERS(
            "--cors-origin",
            metavar="ORIGIN",
            help="A site whose pages may call this service: https://shop.example; repeatable.",
        ),
    ] = ()
    trusted_proxies: Annotated[
        tuple[str, ...],
        CALLERS(
            "--trusted-proxy",
            metavar="NETWORK",
            help="Address or network of a proxy before this service. The addresses of its clients "
            "are taken from X-Forwarded-For; repeatable.",
        ),
    ] = ()
    keys: Annotated[
        Path | None,
        CALLERS(
            envvar="PLATES_KEYS",
            metavar="FILE",
            help="File of API keys; each request needs one of them.",
        ),
    ] = None
    no_keys: Annotated[
        bool, CALLERS("--no-keys", help="Serve clients on other machines without a key.")
    ] = False
    certificate: Annotated[
        Path | None, CALLERS(metavar="FILE", help="TLS certificate and its chain, PEM.")
    ] = None
    private_key: Annotated[
        Path | None, CALLERS(metavar="FILE", help="The certificate's key, PEM.")
    ] = None
    audit: Annotated[
        Path | None,
        CALLERS(metavar="FILE", help="File of the audit log; without it, standard output."),
    ] = None
    processes: Annotated[
        int, CALLERS("--gateway-processes", min=1, max=64, help="Number of gateway processes.")
    ] = 1
    cameras: Annotated[
        Path | None,
        CALLERS(
            metavar="FILE",
            help="File of cameras, as for `plates watch`: serves their passes, lists and pages.",
        ),
    ] = None

    source_url: Annotated[
        str,
        CALLERS(
            metavar="URL",
            help="Address of this service's source, for the footer of its pages: the licence asks "
            "for it where other people use the service.",
        ),
    ] = ""

    def __post_init__(self) -> None:
        check_ranges(self)
