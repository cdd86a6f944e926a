"""The commands `plates train ...` and `plates quantize`."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from orchestrator.cli.commands import SuggestingGroup
from orchestrator.cli.flags import (
    Device,
    DeviceOption,
    FormatsOption,
    ThreadsOption,
    VerboseOption,
    WeightsOption,
    show_errors,
)
from orchestrator.errors import SettingsError
from orchestrator.host.toml_files import read_table
from workshop.training.detector.detector_recipe import DetectorRecipe
from workshop.training.reader.reader_recipe import SHIPPED, ReaderRecipe

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
SeedOption = Annotated[int | None, typer.Option(min=0, help="Seed in place of the recipe's.")]


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
    """Return the given recipe, else the run's own when it is resumed, else one of the project's."""
    from workshop.training.runs import RECIPE

    if recipe is None and resume and (out / RECIPE).exists():
        return out / RECIPE
    return recipe or SHIPPED / f"{name}{'_card' if on_card else ''}.toml"


def formats_of_environment() -> Path | None:
    """Return the file of plate formats that the environment names; a recipe overrides it."""
    file = os.environ.get(FORMATS_VARIABLE)
    return Path(file) if file else None


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

    for kind in (np.float32, np.float64):
        np.finfo(kind)  # a first call after the next line would warn of missing subnormals
    torch.set_flush_denormal(True)  # subnormal numbers make a CPU many times slower
    cv2.setNumThreads(1)
    torch.set_num_threads(threads or len(os.sched_getaffinity(0)))
    has_gpu = torch.cuda.is_available()
    if device is Device.GPU and not has_gpu:
        raise SettingsError("device: wanted a GPU, got none that PyTorch can use")
    torch.backends.cudnn.benchmark = has_gpu  # all batches of a run have one size
    return torch.device("cuda" if has_gpu and device is not Device.CPU else "cpu")


def train_detector(
    recipe: RecipeArgument = None,
    *,
    out: OutOption,
    resume: ResumeOption = False,
    data: Annotated[Path | None, typer.Option(help="Pictures and labels in YOLO format.")] = None,
    extra: Annotated[
        list[Path] | None, typer.Option(help="More training pictures: .../images/NAME; repeatable.")
    ] = None,
    start: Annotated[Path | None, typer.Option(help="YOLOv5n weights to start from.")] = None,
    epochs: Annotated[
        int | None,
        typer.Option(min=1, help="Length in place of the recipe's; with --resume, a new end."),
    ] = None,
    minutes: MinutesOption = None,
    seed: SeedOption = None,
    device: DeviceOption = Device.AUTO,
    threads: ThreadsOption = 0,
) -> None:
    """Train YOLOv5n to find plates; needs `make train-env`.

    Without RECIPE.toml: the run's own with --resume, else the project's. With --minutes: a
    fine-tuning on a GPU that ends by the clock.
    """
    with show_progress("detector", out):
        file = choose_recipe(recipe, out, "detector", resume=resume, on_card=minutes is not None)
        chosen_recipe = override(read_table(DetectorRecipe, file), start=start)
        more = tuple(folder.absolute() for folder in extra or ()) or None
        chosen_recipe = replace(
            chosen_recipe,
            data=override(chosen_recipe.data, pictures=data, extra=more),
            training=override(chosen_recipe.training, epochs=epochs, minutes=minutes, seed=seed),
        )
        torch_device = prepare_device(device, threads)

        from workshop.training.detector.detector_training import run

        run(chosen_recipe, out, device=torch_device, resume=resume)


def train_reader(
    recipe: RecipeArgument = None,
    *,
    out: OutOption,
    resume: ResumeOption = False,
    crops: Annotated[Path | None, typer.Option(help="Folder of plates cut from photos.")] = None,
    labels: Annotated[Path | None, typer.Option(help="CSV of their texts: crop,text.")] = None,
    font: Annotated[Path | None, typer.Option(help="Font of some rendered plates.")] = None,
    start: Annotated[Path | None, typer.Option(help="Folder of stn.pth, lprnet.pth.")] = None,
    validation: Annotated[
        Path | None, typer.Option(help="Folder of crops and labels.csv to measure on.")
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(min=1, help="Length in place of the recipe's; with --resume, a new end."),
    ] = None,
    minutes: MinutesOption = None,
    rehearse: Annotated[
        bool, typer.Option("--rehearse", help="Try everything in tiny sizes, in two minutes.")
    ] = False,
    workers: Annotated[
        int | None, typer.Option(min=0, help="Processes that render; 0: this one alone.")
    ] = None,
    seed: SeedOption = None,
    formats: Annotated[
        Path | None,
        typer.Option(help="What plates may say; without it the recipe's, then PLATE_FORMATS."),
    ] = None,
    device: DeviceOption = Device.AUTO,
    threads: ThreadsOption = 0,
) -> None:
    """Train STN and LPRNet to read plates.

    Without RECIPE.toml: the run's own with --resume, else the project's. With --minutes: a
    fine-tuning on a GPU, with a teacher, that ends by the clock.
    """
    with show_progress("reader", out):
        on_card = rehearse or minutes is not None
        file = choose_recipe(recipe, out, "reader", resume=resume, on_card=on_card)
        chosen_recipe = override(read_table(ReaderRecipe, file), start=start, formats=formats)
        if chosen_recipe.formats is None and not (
            resume and recipe is None
        ):  # a run has its own formats
            chosen_recipe = override(chosen_recipe, formats=formats_of_environment())
        chosen_recipe = replace(
            chosen_recipe,
            data=override(
                chosen_recipe.data, crops=crops, labels=labels, font=font, validation=validation
            ),
            training=override(
                chosen_recipe.training, steps=steps, minutes=minutes, seed=seed, workers=workers
            ),
        )
        if steps is not None and chosen_recipe.training.minutes is not None:
            raise SettingsError(f"length: wanted --steps or minutes, got {steps} steps and "
                                f"{chosen_recipe.training.minutes} minutes")  # fmt: skip
        chosen_recipe = chosen_recipe.rehearsal() if rehearse else chosen_recipe
        torch_device = prepare_device(device, threads)

        from workshop.training.reader.reader_training import run

        run(chosen_recipe, out, device=torch_device, resume=resume)


def quantize(
    *,
    weights: WeightsOption = None,
    formats: FormatsOption = None,
    pictures: Annotated[
        int, typer.Option(min=1, help="Rendered pictures to calibrate the detector with.")
    ] = 60,
    plates: Annotated[
        int, typer.Option(min=1, help="Rendered plates to calibrate the reader with.")
    ] = 300,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the pictures and plates.")] = 77,
    verbose: VerboseOption = False,
) -> None:
    """Write detector and reader in 8-bit integers beside their weights; needs `make train-env`."""
    with show_errors(verbose=verbose):
        from orchestrator.networks.weights import WEIGHTS
        from workshop.training.quantization import write_quantized

        for path in write_quantized(weights or WEIGHTS, pictures, plates, seed, formats):
            typer.echo(path)


train = typer.Typer(
    cls=SuggestingGroup, help="Train the networks on your own pictures.", no_args_is_help=True
)
train.command("detector")(train_detector)
train.command("reader")(train_reader)
