"""The server that a command asks: the one that was named, or one of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from orchestrator.errors import ExtraError
from orchestrator.extras import check_packages, needs_told

UrlOption = Annotated[
    str | None,
    typer.Option(
        help="host:port or grpc://host:port, with TLS https:// or grpcs://; starts a server of "
        "its own without."
    ),
]
KeyOption = Annotated[
    str | None,
    typer.Option(
        "--key",
        envvar="PLATES_KEY",
        help="API key for --url; the variable keeps it out of others' sight, who see command "
        "lines.",
    ),
]


@contextmanager
def reach_server(url: str | None, **options: Any) -> Iterator[str]:
    """Give the URL of a server for the length of a `with` block.

    Args:
        url: Of a running server; one of our own is started when None.
        options: `ServerOptions` of our own; the default for each that is None.

    Raises:
        ExtraError: A package is missing that only serving needs.
        PlateError: The server cannot be started.
    """
    if url is not None:
        yield url
        return
    try:
        with needs_told():
            from orchestrator.server.local import own_server
            from orchestrator.server.options import ServerOptions

            check_packages("torch")
    except ExtraError as error:
        raise ExtraError(f"without --url host:port a server is started: {error}") from error
    typer.echo("starting Triton ...", err=True)
    with own_server(ServerOptions.given(**options)) as served:
        yield served.http_url
