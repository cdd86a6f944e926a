"""The command `plates train detector`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.flags import Device, DeviceOption, ThreadsOption
from orchestrator.host.toml_files import read_table
from workshop.training.cli.recipe_flags import (
    MinutesOption,
    OutOption,
    RecipeArgument,
    ResumeOption,
    SeedOption,
    choose_recipe,
    override,
    prepare_device,
    show_progress,
)
from workshop.training.detector.detector_recipe import DetectorRecipe


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
        int | None, typer.Option(min=1, help="Instead of the recipe's; more with --resume: go on.")
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
        asked = override(read_table(DetectorRecipe, file), start=start)
        more = tuple(folder.absolute() for folder in extra or ()) or None
        asked = replace(
            asked,
            data=override(asked.data, pictures=data, extra=more),
            training=override(asked.training, epochs=epochs, minutes=minutes, seed=seed),
        )
        place = prepare_device(device, threads)

        from workshop.training.detector.detector_training import run

        run(asked, out, device=place, resume=resume)
