"""Shared parts of the commands `plates train ...`: options, recipes, start and end of a run."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from orchestrator.cli.flags import Device, show_errors
from orchestrator.errors import SettingsError
from workshop.training.reader.reader_recipe import SHIPPED

if TYPE_CHECKING:
    import torch

# Only the command that needs PyTorch imports it, so that --help is quick.

log = logging.getLogger("workshop.training")

T = TypeVar("T")
FORMATS_VARIABLE = "PLATE_FORMATS"

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
MinutesOption = Annotated[
    float | None,
    typer.Option(
        min=0.001,
        help="Time of the whole run; without RECIPE.toml, the project's recipe for a GPU.",
    ),
]
SeedOption = Annotated[int | None, typer.Option(min=0, help="Instead of the recipe's.")]


@contextmanager
def show_progress(name: str, out: Path) -> Iterator[None]:
    """Show errors in one sentence, and progress; on Ctrl-C, say how to resume the run."""
    with show_errors(verbose=False):
        log.setLevel(logging.INFO)
        try:
            yield
        except KeyboardInterrupt:
            command = f"plates train {name} --out {out} --resume"
            typer.echo(f"stopped; go on from the last checkpoint with\n  {command}", err=True)
            raise typer.Exit(130) from None
        typer.echo(f"done: {out} can be served with --weights {out}", err=True)


def choose_recipe(
    recipe: Path | None, out: Path, name: str, *, resume: bool, on_card: bool
) -> Path:
    """Return the given recipe, else the run's own when it is resumed, else one of the project's.

    Args:
        recipe: The given recipe.
        out: Folder of the run.
        name: `reader` or `detector`.
        resume: True if the run is resumed.
        on_card: True for the project's recipe for a GPU.
    """
    from workshop.training.runs import RECIPE

    if recipe is None and resume and (out / RECIPE).exists():
        return out / RECIPE
    return recipe or SHIPPED / f"{name}{'_card' if on_card else ''}.toml"


def formats_of_environment() -> Path | None:
    """Return the file of plate formats that the environment names; a recipe overrides it."""
    named = os.environ.get(FORMATS_VARIABLE)
    return Path(named) if named else None


def override(part: T, **values: Any) -> T:
    """Return a recipe, or a part of it, changed by the given flags; paths become absolute."""
    changes = {
        name: value.absolute() if isinstance(value, Path) else value
        for name, value in values.items()
        if value is not None
    }
    return replace(part, **changes)  # type: ignore[type-var]  # a dataclass


def prepare_device(device: Device, threads: int) -> torch.device:
    """Configure PyTorch and OpenCV for a training, and choose its device.

    Raises:
        SettingsError: A GPU is asked for, and there is none.
    """
    import cv2
    import numpy as np
    import torch

    np.finfo(np.float64)  # a first call after the next line would warn of missing subnormals
    torch.set_flush_denormal(True)  # subnormal numbers make a CPU many times slower
    cv2.setNumThreads(1)
    torch.set_num_threads(threads or len(os.sched_getaffinity(0)))
    has_gpu = torch.cuda.is_available()
    if device is Device.GPU and not has_gpu:
        raise SettingsError("device: wanted a GPU, got none that PyTorch can use")
    torch.backends.cudnn.benchmark = has_gpu  # all batches of a run have one size
    return torch.device("cuda" if has_gpu and device is not Device.CPU else "cpu")
