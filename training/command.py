"""The commands `plates train detector`, `plates train reader` and `plates quantize`."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from orchestrator.cli.flags import (
    Device,
    DeviceOption,
    FormatsOption,
    ThreadsOption,
    VerboseOption,
    WeightsOption,
    plain_errors,
)
from orchestrator.errors import SettingsError
from orchestrator.formats import RUSSIA
from orchestrator.toml_files import read_table
from training.recipes import SHIPPED, DetectorRecipe, ReaderRecipe

if TYPE_CHECKING:
    import torch

# PyTorch is imported by the command that needs it, so that --help is quick.

log = logging.getLogger("training")

train = typer.Typer(help="Train the networks on your own pictures.", no_args_is_help=True)


RecipeArgument = Annotated[
    Path | None,
    typer.Argument(
        metavar="RECIPE.toml",
        help="What to train on and how; without it, the run's with --resume, else the project's.",
        show_default=False,
    ),
]
OutOption = Annotated[Path, typer.Option(help="Folder of the run: checkpoints, then weights.")]
ResumeOption = Annotated[bool, typer.Option("--resume", help="Go on with the run in --out.")]
SeedOption = Annotated[int | None, typer.Option(min=0, help="Instead of the recipe's.")]


@train.command()
def detector(
    recipe: RecipeArgument = None,
    *,
    out: OutOption,
    resume: ResumeOption = False,
    data: Annotated[Path | None, typer.Option(help="Pictures and labels in YOLO format.")] = None,
    extra: Annotated[
        list[Path] | None, typer.Option(help="More training pictures: .../images/NAME; repeatable.")
    ] = None,
    start: Annotated[Path | None, typer.Option(help="YOLOv5n weights to start from.")] = None,
    epochs: Annotated[int | None, typer.Option(min=1, help="Instead of the recipe's.")] = None,
    seed: SeedOption = None,
    device: DeviceOption = Device.AUTO,
    threads: ThreadsOption = 0,
) -> None:
    """Train YOLOv5n to find plates; needs `make train-env`.

    Without RECIPE.toml: the run's own with --resume, else the project's.
    """
    with _training("detector", out):
        file = _recipe_file(recipe, out, "detector.toml", resume=resume)
        asked = read_table(DetectorRecipe, file)
        asked = _with(asked, start=start)
        more = tuple(folder.absolute() for folder in extra or ()) or None
        asked = replace(asked, data=_with(asked.data, pictures=data, extra=more))
        asked = replace(asked, training=_with(asked.training, epochs=epochs, seed=seed))
        place = _prepare(device, threads)

        from training.detector import run

        run(asked, out, device=place, resume=resume)


@train.command()
def reader(
    recipe: RecipeArgument = None,
    *,
    out: OutOption,
    resume: ResumeOption = False,
    crops: Annotated[Path | None, typer.Option(help="Folder of plates cut from photos.")] = None,
    labels: Annotated[Path | None, typer.Option(help="CSV of their texts: crop,text.")] = None,
    font: Annotated[Path | None, typer.Option(help="Font of some rendered plates.")] = None,
    start: Annotated[Path | None, typer.Option(help="Folder of stn.pth, lprnet.pth.")] = None,
    steps: Annotated[int | None, typer.Option(min=1, help="Instead of the recipe's.")] = None,
    seed: SeedOption = None,
    formats: FormatsOption = None,
    device: DeviceOption = Device.AUTO,
    threads: ThreadsOption = 0,
) -> None:
    """Train STN and LPRNet to read plates.

    Without RECIPE.toml: the run's own with --resume, else the project's.
    """
    with _training("reader", out):
        file = _recipe_file(recipe, out, "reader.toml", resume=resume)
        asked = read_table(ReaderRecipe, file)
        asked = _with(asked, start=start)
        asked = replace(asked, data=_with(asked.data, crops=crops, labels=labels, font=font))
        asked = replace(asked, training=_with(asked.training, steps=steps, seed=seed))
        place = _prepare(device, threads)

        from training.reader import run

        run(asked, out, formats=formats or RUSSIA, device=place, resume=resume)


@contextmanager
def _training(name: str, out: Path) -> Iterator[None]:
    """Show errors as one sentence and progress as it comes; end on Ctrl-C with what to do next."""
    with plain_errors(verbose=False):
        log.setLevel(logging.INFO)
        try:
            yield
        except KeyboardInterrupt:
            command = f"plates train {name} --out {out} --resume"
            typer.echo(f"stopped; go on from the last checkpoint with\n  {command}", err=True)
            raise typer.Exit(130) from None
        typer.echo(f"done: {out} can be served with --weights {out}", err=True)


def _recipe_file(recipe: Path | None, out: Path, shipped: str, *, resume: bool) -> Path:
    """Return the recipe asked for, else the run's own when it goes on, else the project's."""
    from training.runs import RECIPE

    if recipe is None and resume and (out / RECIPE).exists():
        return out / RECIPE
    return recipe or SHIPPED / shipped


T = TypeVar("T")


def _with(part: T, **values: Any) -> T:
    """Return a recipe, or a part of it, with the flags that were given; paths made absolute."""
    given = {
        name: value.absolute() if isinstance(value, Path) else value
        for name, value in values.items()
        if value is not None
    }
    return replace(part, **given)  # type: ignore[type-var]  # a dataclass


def _prepare(device: Device, threads: int) -> torch.device:
    """Set PyTorch and OpenCV up for a training and choose where it runs."""
    import cv2
    import numpy as np
    import torch

    np.finfo(np.float64)  # which, asked first later on, would warn that there are no subnormals
    torch.set_flush_denormal(True)  # subnormal numbers slow a CPU down many times
    cv2.setNumThreads(1)
    torch.set_num_threads(threads or len(os.sched_getaffinity(0)))
    found = torch.cuda.is_available()
    if device is Device.GPU and not found:
        raise SettingsError("device: wanted a GPU, got none that PyTorch can use")
    return torch.device("cuda" if found and device is not Device.CPU else "cpu")


def quantize(
    *,
    weights: WeightsOption = None,
    pictures: Annotated[int, typer.Option(min=1, help="Rendered pictures to calibrate with.")] = 60,
    seed: Annotated[int, typer.Option(min=0, help="Of these pictures.")] = 77,
    verbose: VerboseOption = False,
) -> None:
    """Write the detector in 8-bit integers beside its weights; needs `make train-env`."""
    with plain_errors(verbose=verbose):
        from orchestrator.networks.weights import WEIGHTS
        from training.quantization import quantize as written

        typer.echo(written(weights or WEIGHTS, pictures, seed))
