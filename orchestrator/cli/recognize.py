"""The command `plates recognize`."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from orchestrator.cli.chosen_server import SERVER_PANEL, AddressOptions
from orchestrator.cli.flags import CallOptions, QuietOption, VerboseOption, show_errors
from orchestrator.cli.recognition.options import ResultOptions, SourceOptions
from orchestrator.host.option_fields import declared, expand
from orchestrator.networks.options import LocalServerOptions

# Heavy modules are imported when the command runs, so that --help is quick. The text above the
# options explains SOURCE: with Click 8.5 Typer shows no help of arguments.

EXAMPLES = """
Recognise the number plates of pictures.

SOURCE: pictures (JPEG, PNG, WebP, BMP), folders, zip archives, http(s) URLs,
patterns in quotes, or - for a picture from standard input. Clips (mp4, mkv,
avi, mov, webm) give the vehicles that passed, as plates watch --once does.

Without --url a server is started for the time of this command.

Examples:

  plates recognize car.jpg

  plates recognize photos/ --csv plates.csv --annotate drawn/

  plates recognize "photos/**/*.jpg" photos.zip --jsonl plates.jsonl --resume

  plates recognize --from-file urls.txt --json | jq .plates[].text

  plates recognize - < car.jpg

  plates recognize gate/ --url localhost:8000 --watchlist wanted.txt

Exit codes: 0 all done, 1 some pictures failed, 2 nothing could be done, 130 stopped by Ctrl-C.
"""


@expand
def recognize(
    context: typer.Context,
    sources: Annotated[
        list[str] | None, typer.Argument(metavar="[SOURCE]...", show_default=False)
    ] = None,
    *,
    search: SourceOptions,
    results: ResultOptions,
    call: CallOptions,
    server: AddressOptions,
    in_flight: Annotated[
        int,
        typer.Option(
            min=0,
            max=64,
            rich_help_panel=SERVER_PANEL,
            help="Pictures sent at once; 0: as many as keep the server busy.",
        ),
    ] = 0,
    local: LocalServerOptions,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
) -> None:
    with show_errors(verbose=verbose, quiet=quiet):
        from orchestrator.cli import chosen_server
        from orchestrator.cli.recognition.clips import forward_to_watch, names_clips
        from orchestrator.cli.recognition.job import Input, Output, ServerAccess, recognize_all
        from orchestrator.client import PlateClient
        from orchestrator.contract import FORMATS_FILE

        if names_clips(sources or []):
            forward_to_watch(context)
        if results.annotate or results.crops:
            import orchestrator.imaging.drawing  # noqa: F401 - what it lacks is told before the first call

        local_names = declared(LocalServerOptions).keys()
        unused_names = local_names - {"formats"} if results.watchlist else local_names
        chosen_server.check_unused(context, server.url, unused_names)
        inputs = Input(sources or [], search)
        key = server.key if server.url else None  # our own server gets no key
        pictures = 1 if inputs.is_one_picture else 0
        weights = None if server.url else local.weights
        access = ServerAccess(
            reach=partial(
                chosen_server.reach_server,
                server.url,
                is_quiet=quiet,
                pictures=pictures,
                **vars(local),
            ),
            connect=partial(PlateClient, key=key, timeout_s=server.timeout, retries=server.retries),
            fit=lambda address: (
                in_flight or chosen_server.fitting_calls(address, key, server.timeout)
            ),
            parameters=call.parameters,
            formats=local.formats or (weights and weights / FORMATS_FILE),
        )
        status = recognize_all(inputs, access, Output(results, quiet))
    raise typer.Exit(status)


recognize.__doc__ = EXAMPLES
