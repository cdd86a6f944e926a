"""The command line: `plates recognize` here, the other commands beside what they run."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from orchestrator.bench.command import bench
from orchestrator.command import (
    DetectionThresholdOption,
    Device,
    DeviceOption,
    EngineOption,
    MaxPlatesOption,
    RepositoryOption,
    TextThresholdOption,
    ThreadsOption,
    VerboseOption,
    WeightsOption,
    plain_errors,
)
from orchestrator.errors import PictureError, PlateError
from orchestrator.evaluation.command import evaluate
from orchestrator.networks.engines import Engine
from orchestrator.training.command import quantize, train
from orchestrator.triton.command import add_version, export, serve

# Everything heavy is imported by the command that needs it, so that --help is quick.

app = typer.Typer(
    help="Russian number plates from one infer call on NVIDIA Triton.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@app.command()
def recognize(
    sources: Annotated[list[Path], typer.Argument(help="Picture files, or folders of them.")],
    *,
    url: Annotated[
        str | None,
        typer.Option(help="host:port or grpc://host:port; starts a server of its own without."),
    ] = None,
    annotate: Annotated[
        Path | None, typer.Option(help="Folder for pictures with the plates drawn in.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per picture.")] = False,
    detection_threshold: DetectionThresholdOption = None,
    text_threshold: TextThresholdOption = None,
    max_plates: MaxPlatesOption = None,
    device: DeviceOption = Device.AUTO,
    engine: EngineOption = Engine.AUTO,
    threads: ThreadsOption = 0,
    model_repository: RepositoryOption = None,
    weights: WeightsOption = None,
    verbose: VerboseOption = False,
) -> None:
    """Recognise the plates of pictures and print them."""
    with plain_errors(verbose=verbose):
        pictures = _pictures(sources)
        parameters = {
            "detection_threshold": detection_threshold,
            "text_threshold": text_threshold,
            "max_plates": max_plates,
        }
        from orchestrator.triton.local import server_at

        if not url:
            typer.echo("starting Triton ...", err=True)
        served = (model_repository, weights, device.value, threads, engine)
        with server_at(url, *served) as address:
            failures = _recognize_all(address, pictures, parameters, annotate, as_json)
    raise typer.Exit(1 if failures else 0)


def _recognize_all(
    url: str,
    pictures: list[Path],
    parameters: dict[str, Any],
    annotate: Path | None,
    as_json: bool,
) -> int:
    """Recognise and print picture by picture; return how many could not be."""
    from orchestrator.client import PlateClient

    failures = 0
    with PlateClient(url) as client:
        for picture in pictures:
            try:
                plates = client.recognize(picture, **parameters)
                drawn = _draw(picture, plates, annotate) if annotate else None
            except PlateError as error:
                typer.echo(f"{picture}: {error}", err=True)
                failures += 1
                continue
            typer.echo(_json_of(picture, plates) if as_json else _table_of(picture, plates))
            if drawn:
                typer.echo(f"  drawn in {drawn}", err=as_json)
    return failures


def _json_of(picture: Path, plates: Any) -> str:
    return json.dumps({"picture": str(picture), "plates": [asdict(plate) for plate in plates]})


def _table_of(picture: Path, plates: Any) -> str:
    if not plates:
        return f"{picture}: no plates"
    table = plates.to_dataframe()
    for side in ("x0", "y0", "x1", "y1"):
        table[side] = table[side].round().astype(int)
    table["text"] = table["text"].replace("", "?")
    columns = [
        "text", "text_score", "raw_text", "format", "detection_score", "x0", "y0", "x1", "y1"
    ]  # fmt: skip
    lines = table[columns].to_string(index=False, float_format="{:.2f}".format)
    return f"{picture}: {len(plates)} plates\n{lines}"


def _draw(picture: Path, plates: Any, folder: Path) -> Path:
    """Write the annotated picture; raises PictureError where the folder cannot be written."""
    import cv2

    from orchestrator.drawing import annotate
    from orchestrator.images import read_picture

    target = folder / f"{picture.stem}.png"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _, encoded = cv2.imencode(".png", annotate(read_picture(picture).numpy(), plates))
        target.write_bytes(encoded.tobytes())
    except OSError as error:
        raise PictureError(f"{target}: wanted to write here, got {error.strerror}") from error
    return target


app.command()(serve)
app.command()(export)
app.command()(add_version)
app.command()(evaluate)
app.command()(bench)
app.command()(quantize)
app.add_typer(train, name="train")


def _pictures(sources: list[Path]) -> list[Path]:
    """Expand folders to the pictures in them."""
    from orchestrator.images import SUFFIXES

    found: list[Path] = []
    for source in sources:
        if source.is_dir():
            inside = sorted(p for p in source.iterdir() if p.suffix.lower() in SUFFIXES)
            if not inside:
                raise PictureError(f"{source}: wanted pictures, got a folder without any")
            found += inside
        else:
            found.append(source)
    return found
