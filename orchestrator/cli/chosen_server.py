"""The server for a command: the one named by the user, or a temporary one."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from orchestrator.cli.standard_streams import say
from orchestrator.errors import ExtraError, ModelError, Overloaded, RequestError, SettingsError
from orchestrator.host.distribution import check_packages, explain_missing_package

SERVER_PANEL = "Server"
UrlOption = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=SERVER_PANEL,
        metavar="HOST:PORT",
        help="A server that runs; grpc://host:port for gRPC, with TLS https:// or grpcs://. "
        "Without it, this command starts a server, and stops it at its end.",
    ),
]
MIN_CALLS, USUAL_CALLS, MAX_CALLS = 4, 8, 32
"""Calls at once to a small server, to one of unknown size, and to a large one. The size of a server
is how many pictures it processes at once; the gateway lets one client have 64."""
ASK_S = 10.0
"""Timeout of the question for that size."""
KEY_VARIABLE = "PLATES_KEY"
HEADERS = "send a key as"
"""Start of the gateway's advice to a caller who writes headers."""
KeyOption = Annotated[
    str | None,
    typer.Option(
        "--key",
        envvar=KEY_VARIABLE,
        rich_help_panel=SERVER_PANEL,
        help="API key for --url; the variable hides it from other users, who can read command "
        "lines.",
    ),
]

TimeoutOption = Annotated[
    float,
    typer.Option(
        "--timeout",
        metavar="SECONDS",
        rich_help_panel=SERVER_PANEL,
        help="Longest that a picture may wait for its answer, each time it is sent.",
    ),
]


@dataclass(frozen=True)
class AddressOptions:
    """A server that runs, and how it is called."""

    url: UrlOption = None
    key: KeyOption = None
    timeout: TimeoutOption = 60.0
    retries: Annotated[
        int,
        typer.Option(
            min=0,
            rich_help_panel=SERVER_PANEL,
            help="How often a picture is sent again, after growing pauses, if the server is busy "
            "or does not answer.",
        ),
    ] = 8


@contextmanager
def reach_server(url: str | None, *, is_quiet: bool = False, **options: Any) -> Iterator[str]:
    """Give the URL of a server for the length of a `with` block.

    Args:
        url: URL of a running server; None starts one of our own.
        is_quiet: The start is not reported.
        options: `ServerOptions` of our own server; None means the default.

    Raises:
        ExtraError: A package is missing that only serving needs.
        PlateError: The server cannot be started.
    """
    if url is not None:
        yield url
        return
    try:
        with explain_missing_package():
            from orchestrator.serving.supervisor.local_server import own_server
            from orchestrator.serving.supervisor.options import ServerOptions

            check_packages("torch")
    except ExtraError as error:
        raise ExtraError(f"without --url host:port a server is started: {error}") from error
    if not is_quiet:
        say("starting a server, which takes some seconds ...", err=True)
    with own_server(ServerOptions.given(**options)) as server:
        yield server.http_url


def check_unused(context: typer.Context, url: str | None, names: Collection[str]) -> None:
    """Check that a command line with `--url` has no option of a server that is started here.

    Variables of the environment are not refused: they are for many commands.

    Args:
        context: The command, with its options.
        url: The URL of a running server; None means that a server is started.
        names: The parameters of the command that only a server of its own uses.

    Raises:
        SettingsError: It has.
    """
    unused_options = [
        option.opts[0]
        for option in context.command.params
        if option.name in names and is_typed(context, option.name)
    ]
    if url is not None and unused_options:
        raise SettingsError(
            f"{', '.join(unused_options)}: wanted without --url, got both; the server at {url} was "
            "started with options of its own"
        )


def is_typed(context: typer.Context, option: str) -> bool:
    """Tell whether an option stands on the command line.

    The source is known by its name: later versions of Typer have their own copy of Click.
    """
    source = context.get_parameter_source(option)
    return source is not None and source.name == "COMMANDLINE"


def fitting_calls(url: str, key: str | None, timeout_s: float) -> int:
    """Ask a server how many pictures it processes at once; return how many calls keep it busy.

    It is twice as many calls: while one picture is processed, the next is on its way.

    Raises:
        ServerError: No server answers at this URL.
        RequestError: The server requires a key, or does not recognise plates.
    """
    from orchestrator.client.connecting import connect
    from orchestrator.client.error_mapping import translate_errors
    from orchestrator.client.requests import fit
    from orchestrator.host.blocking import run_blocking

    channel, timeout_s = connect(url, key), min(timeout_s, ASK_S)
    try:
        with translate_errors(url, timeout_s):
            calls = fit(run_blocking(channel.config(timeout_s)))
    except (Overloaded, ModelError, SettingsError):  # the server is there; its size is unknown
        return USUAL_CALLS
    except RequestError as error:
        if error.response.status == 401 or error.response.grpc_code == "UNAUTHENTICATED":
            raise RequestError(_name_option(error, url, key), response=error.response) from error
        raise
    finally:
        run_blocking(channel.close())
    return min(max(calls, MIN_CALLS), MAX_CALLS)


def _name_option(error: RequestError, url: str, key: str | None) -> str:
    """Return the message of a server that rejects a key, without its advice about headers."""
    message = str(error).partition(f": {HEADERS}")[0]
    if key is None:
        return f"{url}: {message}. Give one by --key, or by the variable {KEY_VARIABLE}"
    return f"{url}: {message}. It was given by --key, or by the variable {KEY_VARIABLE}"
