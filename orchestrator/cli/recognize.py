"""The command `plates recognize`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.chosen_server import (
    SERVER_PANEL,
    KeyOption,
    RetriesOption,
    TimeoutOption,
    UrlOption,
)
from orchestrator.cli.flags import (
    PLATES_PANEL,
    DetectionThresholdOption,
    Device,
    DeviceOption,
    EngineOption,
    FormatsOption,
    MaxPlatesOption,
    QuietOption,
    RepositoryOption,
    RoiOption,
    SideOption,
    TextThresholdOption,
    ThreadsOption,
    VerboseOption,
    WeightsOption,
    show_errors,
)
from orchestrator.networks.engines import Engine

# Heavy modules are imported when the command runs, so that --help is quick. The text above the
# options explains SOURCE: with Click 8.5 Typer shows no help of arguments.

OF_OWN_SERVER = {"device", "engine", "threads", "model_repository", "weights"}
"""Parameters that only a server uses that the command starts."""
SOURCES, RESULTS, MADE = "Where from", "Results", "Pictures to look at"
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


def recognize(
    context: typer.Context,
    sources: Annotated[
        list[str] | None,
        typer.Argument(metavar="[SOURCE]...", show_default=False),
    ] = None,
    *,
    from_file: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel=SOURCES,
            help="A list of sources, one a line; - for a list from standard input.",
        ),
    ] = None,
    recursive: Annotated[
        bool, typer.Option(rich_help_panel=SOURCES, help="Look into folders of folders, too.")
    ] = True,
    private_addresses: Annotated[
        bool,
        typer.Option(
            "--private-addresses",
            rich_help_panel=SOURCES,
            help="Fetch URLs of a list, and follow redirects, to addresses of this machine and of "
            "private networks, too.",
        ),
    ] = False,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json",
            rich_help_panel=RESULTS,
            help="Print a JSON object for each picture, one a line, instead of a table.",
        ),
    ] = False,
    show_all: Annotated[
        bool,
        typer.Option(
            "--all",
            rich_help_panel=RESULTS,
            help="Show plates that cannot be read, too, in the table and in drawings.",
        ),
    ] = False,
    jsonl: Annotated[
        Path | None,
        typer.Option(metavar="FILE", rich_help_panel=RESULTS, help="Write the same to a file."),
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option(metavar="FILE", rich_help_panel=RESULTS, help="Write a row for each plate."),
    ] = None,
    excel: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel=RESULTS,
            help="The same rows for Excel where the comma is the decimal sign: semicolons between "
            "columns, and a byte order mark.",
        ),
    ] = None,
    parquet: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel=RESULTS,
            help="The same rows as a Parquet file; needs the package pyarrow.",
        ),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            rich_help_panel=RESULTS,
            help="Go on with --jsonl, --csv and --excel files: pictures that have an answer there "
            "are not done again.",
        ),
    ] = False,
    cyrillic: Annotated[
        bool,
        typer.Option(
            "--cyrillic", rich_help_panel=RESULTS, help="Write plates in Cyrillic letters."
        ),
    ] = False,
    annotate: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            rich_help_panel=MADE,
            help="Write each picture with its plates drawn in; no file is overwritten.",
        ),
    ] = None,
    crops: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            rich_help_panel=MADE,
            help="Write each plate, cut out and straightened; no file is overwritten.",
        ),
    ] = None,
    png: Annotated[
        bool,
        typer.Option(
            "--png", rich_help_panel=MADE, help="PNG files, ten times the size, instead of JPEG."
        ),
    ] = False,
    min_score: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            rich_help_panel=PLATES_PANEL,
            help="Leave out plates whose text is less sure than this.",
        ),
    ] = 0.0,
    watchlist: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel=PLATES_PANEL,
            help="Plates to flag, one a line, with a note.",
        ),
    ] = None,
    distance: Annotated[
        int,
        typer.Option(
            min=0,
            max=2,
            rich_help_panel=PLATES_PANEL,
            help="Flag plates, too, that differ from one of the list by so many characters.",
        ),
    ] = 0,
    roi: RoiOption = None,
    detection_threshold: DetectionThresholdOption = None,
    text_threshold: TextThresholdOption = None,
    max_plates: MaxPlatesOption = None,
    detector_side_px: SideOption = None,
    url: UrlOption = None,
    key: KeyOption = None,
    timeout: TimeoutOption = 60.0,
    retries: RetriesOption = 8,
    in_flight: Annotated[
        int,
        typer.Option(
            min=0,
            max=64,
            rich_help_panel=SERVER_PANEL,
            help="Pictures sent at once; 0: what keeps the server busy.",
        ),
    ] = 0,
    device: DeviceOption = Device.AUTO,
    engine: EngineOption = Engine.AUTO,
    threads: ThreadsOption = 0,
    model_repository: RepositoryOption = None,
    weights: WeightsOption = None,
    formats: FormatsOption = None,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
) -> None:
    with show_errors(verbose=verbose, quiet=quiet):
        from orchestrator.cli import chosen_server
        from orchestrator.cli.recognition.clips import forward_to_watch, names_clips
        from orchestrator.cli.recognition.job import Input, Output, ServerAccess, recognize_all
        from orchestrator.cli.recognition.output_pictures import OutputPictures
        from orchestrator.client import PlateClient
        from orchestrator.contract import FORMATS_FILE

        if names_clips(sources or []):
            forward_to_watch(context)
        if annotate or crops:
            import orchestrator.imaging.drawing  # noqa: F401 - what it lacks is told before the first call

        unused = OF_OWN_SERVER if watchlist else OF_OWN_SERVER | {"formats"}
        chosen_server.check_unused(context, url, unused)
        inputs = Input(sources or [], from_file, recursive, private_addresses)
        served = {
            "pictures": 1 if inputs.is_one_picture else 0,
            "repository": model_repository,
            "weights": weights,
            "formats": formats,
            "device": device.value,
            "threads": threads,
            "engine": engine,
        }
        parameters = {
            "detection_threshold": detection_threshold,
            "text_threshold": text_threshold,
            "max_plates": max_plates,
            "detector_side_px": detector_side_px,
            "roi": roi,
        }
        shown_key = key if url else None  # our own server gets no key
        access = ServerAccess(
            reach=partial(chosen_server.reach_server, url, is_quiet=quiet, **served),
            connect=partial(PlateClient, key=shown_key, timeout_s=timeout, retries=retries),
            fit=lambda address: (
                in_flight or chosen_server.fitting_calls(address, shown_key, timeout)
            ),
            parameters={name: value for name, value in parameters.items() if value is not None},
            watchlist=(watchlist, distance),
            min_score=min_score,
            is_cyrillic=cyrillic,
            formats=formats or (weights / FORMATS_FILE if weights and not url else None),
        )
        maker = OutputPictures(annotate, crops, ".png" if png else ".jpg", show_all)
        status = recognize_all(
            inputs,
            access,
            Output(as_json, jsonl, csv, excel, parquet, resume, maker, show_all, quiet),
        )
    raise typer.Exit(status)


recognize.__doc__ = EXAMPLES
