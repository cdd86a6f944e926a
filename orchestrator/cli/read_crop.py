"""The command `plates read-crop`."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.cli.flags import TextThresholdOption, VerboseOption, show_errors
from orchestrator.cli.serving import KeyOption, UrlOption, reach_server
from orchestrator.errors import PlateError

if TYPE_CHECKING:
    from orchestrator.client import PlateClient
    from orchestrator.plates import Plate

# Everything heavy is imported when the command runs, so that --help is quick.

IN_FLIGHT = 4
UNREAD = "?"
ROW = "{:<10} {:>10}  {:<10} {:<11} {}".format
HEAD = ROW("text", "text_score", "raw_text", "format", "crop")
NOT_OF_A_CROP = {"xyxy", "detection_score", "corners"}

Read = Callable[[Path], "Plate | PlateError"]


def read_crop(
    crops: Annotated[
        list[Path], typer.Argument(help="Files of tight crops, or folders of them, at any depth.")
    ],
    *,
    url: UrlOption = None,
    key: KeyOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per crop.")] = False,
    text_threshold: TextThresholdOption = None,
    verbose: VerboseOption = False,
) -> None:
    """Read plates that are cut out already, one a file, and print what they say.

    A crop should have 5 to 20 % of the plate's width and height around it at each side.
    """
    with show_errors(verbose=verbose):
        from orchestrator.cli.sources import choose_pictures
        from orchestrator.client import PlateClient

        sources, are_all_there = choose_pictures(crops)
        with (
            reach_server(url) as address,
            PlateClient(address, key=key if url else None) as client,
        ):
            read = partial(_read, client, text_threshold)
            failures = _print_all([source.path for source in sources], read, as_json=as_json)
    raise typer.Exit(0 if are_all_there and not failures else 1)


def _read(client: PlateClient, text_threshold: float | None, path: Path) -> Plate | PlateError:
    try:
        return client.read_crops([path], text_threshold=text_threshold)[0]
    except PlateError as error:
        return error


def _print_all(paths: Sequence[Path], read: Read, *, as_json: bool) -> int:
    """Read and print crop by crop, in order; return how many could not be read."""
    failures = 0
    if not as_json:
        typer.echo(HEAD)
    with ThreadPoolExecutor(IN_FLIGHT) as pool:
        for path, answer in zip(paths, pool.map(read, paths), strict=True):
            if isinstance(answer, PlateError):
                typer.echo(f"{path}: {str(answer).removeprefix('crop 0: ')}", err=True)
                failures += 1
            else:
                typer.echo(_to_json(path, answer) if as_json else _to_row(path, answer))
    return failures


def _to_json(path: Path, plate: Plate) -> str:
    fields = {name: value for name, value in asdict(plate).items() if name not in NOT_OF_A_CROP}
    return json.dumps({"crop": str(path), **fields})


def _to_row(path: Path, plate: Plate) -> str:
    score = f"{plate.text_score:.2f}"
    return ROW(plate.text or UNREAD, score, plate.raw_text, plate.format, path)
