"""The command `plates recognize`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orchestrator.cli.flags import (
    DetectionThresholdOption,
    Device,
    DeviceOption,
    EngineOption,
    FormatsOption,
    MaxPlatesOption,
    RepositoryOption,
    SideOption,
    TextThresholdOption,
    ThreadsOption,
    VerboseOption,
    WeightsOption,
    show_errors,
)
from orchestrator.cli.serving import KeyOption, UrlOption, reach_server
from orchestrator.errors import PictureError, PlateError
from orchestrator.networks.engines import Engine

if TYPE_CHECKING:
    from orchestrator.cli.sources import Source
    from orchestrator.client import PlateClient
    from orchestrator.plates import Plates

# Everything heavy is imported when the command runs, so that --help is quick.

UNREAD = "?"
EXPLANATION = f"{UNREAD}: not sure enough, or in no plate format; raw_text is the best reading"


def recognize(
    sources: Annotated[
        list[Path], typer.Argument(help="Picture files, or folders of them, at any depth.")
    ],
    *,
    url: UrlOption = None,
    key: KeyOption = None,
    annotate: Annotated[
        Path | None, typer.Option(help="Folder for pictures with the plates drawn in.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per picture.")] = False,
    detection_threshold: DetectionThresholdOption = None,
    text_threshold: TextThresholdOption = None,
    max_plates: MaxPlatesOption = None,
    detector_side_px: SideOption = None,
    device: DeviceOption = Device.AUTO,
    engine: EngineOption = Engine.AUTO,
    threads: ThreadsOption = 0,
    model_repository: RepositoryOption = None,
    weights: WeightsOption = None,
    formats: FormatsOption = None,
    verbose: VerboseOption = False,
) -> None:
    """Recognise the plates of pictures and print them."""
    with show_errors(verbose=verbose):
        from orchestrator.cli.sources import choose_drawings, choose_pictures
        from orchestrator.client import PlateClient

        pictures, are_all_there = choose_pictures(sources)
        parameters = {
            "detection_threshold": detection_threshold,
            "text_threshold": text_threshold,
            "max_plates": max_plates,
            "detector_side_px": detector_side_px,
        }
        drawings = {}
        if annotate:
            import orchestrator.drawing  # noqa: F401 - what it lacks is told before the first call

            drawings = choose_drawings(pictures, annotate)
        served = {
            "repository": model_repository,
            "weights": weights,
            "formats": formats,
            "device": device.value,
            "threads": threads,
            "engine": engine,
        }
        with (
            reach_server(url, **served) as address,
            PlateClient(address, key=key if url else None) as client,
        ):
            failures = _recognize_all(client, pictures, parameters, drawings, as_json)
    raise typer.Exit(0 if are_all_there and not failures else 1)


def _recognize_all(
    client: PlateClient,
    pictures: Sequence[Source],
    parameters: Mapping[str, Any],
    drawings: Mapping[Path, Path],
    as_json: bool,
) -> int:
    """Recognise, print and draw picture by picture; return how many could not be."""
    from orchestrator.picture_files import read_file

    failures, is_explained = 0, as_json
    for path in (picture.path for picture in pictures):
        try:
            encoded = read_file(path)
            found = client.recognize(encoded, **parameters)
            typer.echo(_to_json(path, found) if as_json else _to_table(path, found))
            if "" in found.texts and not is_explained:
                typer.echo(EXPLANATION, err=True)
                is_explained = True
            if path in drawings:
                _draw(encoded, found, drawings[path])
                typer.echo(f"  drawn in {drawings[path]}", err=as_json)
        except PlateError as error:
            typer.echo(f"{path}: {str(error).removeprefix(f'{path}: ')}", err=True)
            failures += 1
    return failures


def _to_json(picture: Path, found: Plates) -> str:
    return json.dumps({"picture": str(picture), **found.to_dict()})


def _to_table(picture: Path, found: Plates) -> str:
    if not found:
        return f"{picture}: no plates"
    count = "1 plate" if len(found) == 1 else f"{len(found)} plates"
    return f"{picture}: {count}\n{found.to_text(UNREAD)}"


def _draw(encoded: bytes, found: Plates, target: Path) -> None:
    """Write the annotated picture; raises PictureError where the folder cannot be written."""
    from orchestrator.drawing import annotate, to_png
    from orchestrator.picture_files import unpack

    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(to_png(annotate(unpack(encoded), found)))
    except OSError as error:
        raise PictureError(f"{target}: cannot be written: {error.strerror}") from error
