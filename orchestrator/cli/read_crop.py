"""The command `plates read-crop`."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.cli.chosen_server import KeyOption, UrlOption, reach_server
from orchestrator.cli.flags import TextThresholdOption, VerboseOption, show_errors
from orchestrator.cli.recognition.plate_table import to_printable
from orchestrator.errors import PlateError

if TYPE_CHECKING:
    from orchestrator.cli.recognition.picture_source import Source
    from orchestrator.client import PlateClient
    from orchestrator.plates import Plate

# Heavy modules are imported when the command runs, so that --help is quick.

IN_FLIGHT = 4
UNREAD = "?"
ROW = "{:<10} {:>10}  {:<10} {:<11} {}".format
HEAD = ROW("text", "text_score", "raw_text", "format", "crop")
NOT_OF_A_CROP = {"xyxy", "detection_score", "corners", "country"}

Read = Callable[["Source"], "Plate | PlateError"]


def read_crop(
    crops: Annotated[
        list[str],
        typer.Argument(metavar="CROP..."),
    ],
    *,
    url: UrlOption = None,
    key: KeyOption = None,
    private_addresses: Annotated[
        bool,
        typer.Option(
            "--private-addresses",
            help="Follow redirects to addresses of this machine and of private networks, too.",
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per crop.")] = False,
    text_threshold: TextThresholdOption = None,
    verbose: VerboseOption = False,
) -> None:
    """Read crops of plates, one plate in each file, and print the texts.

    CROP: files, folders of them, zip archives, http(s) URLs, patterns in quotes,
    or - for one from standard input.

    A crop should have 5 to 20 % of the plate's width and height around it at each side.
    """
    with show_errors(verbose=verbose):
        from orchestrator.cli.recognition.sources import PictureFinder
        from orchestrator.client import PlateClient

        finder = PictureFinder(
            with_crops=True,
            private_addresses=private_addresses,
            report=partial(typer.echo, err=True),
        )
        sources = [*finder.find(crops)]
        is_any_there = any(source.is_there for source in sources)
        server = (
            reach_server(url, pictures=1 if len(sources) == 1 else 0)
            if is_any_there
            else nullcontext(url or "localhost:1")
        )
        with (
            server as address,
            PlateClient(address, key=key if url else None) as client,
        ):
            read_source = partial(_read, client, text_threshold)
            failures = _print_all(sources, read_source, as_json=as_json)
        for line in finder.skipped_files.report():
            typer.echo(line, err=True)
    raise typer.Exit((1 if failures else 0) if is_any_there else 2)


def _read(client: PlateClient, text_threshold: float | None, crop: Source) -> Plate | PlateError:
    try:
        return client.read_crops([crop.read()], text_threshold=text_threshold)[0]
    except PlateError as error:
        return error


def _print_all(crops: Sequence[Source], read_source: Read, *, as_json: bool) -> int:
    """Read and print crop by crop, in order; return how many failed."""
    failures = 0
    if not as_json and any(crop.is_there for crop in crops):
        typer.echo(HEAD)
    with ThreadPoolExecutor(IN_FLIGHT) as pool:
        for crop, answer in zip(crops, pool.map(read_source, crops), strict=True):
            name = to_printable(crop.name)
            if isinstance(answer, PlateError):
                typer.echo(f"{name}: {str(answer).removeprefix('crop 0: ')}", err=True)
                failures += 1
            else:
                typer.echo(_to_json(crop.name, answer) if as_json else _to_row(name, answer))
    return failures


def _to_json(name: str, plate: Plate) -> str:
    fields = {name: value for name, value in asdict(plate).items() if name not in NOT_OF_A_CROP}
    return json.dumps({"crop": name, **fields})


def _to_row(name: str, plate: Plate) -> str:
    score = f"{plate.text_score:.2f}"
    return ROW(plate.text or UNREAD, score, plate.raw_text, plate.format, name)
