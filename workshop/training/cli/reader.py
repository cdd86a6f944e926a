"""The command `plates train reader`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.flags import Device, DeviceOption, ThreadsOption
from orchestrator.errors import SettingsError
from orchestrator.host.toml_files import read_table
from workshop.training.cli.recipe_flags import (
    MinutesOption,
    OutOption,
    RecipeArgument,
    ResumeOption,
    SeedOption,
    choose_recipe,
    formats_of_environment,
    override,
    prepare_device,
    show_progress,
)
from workshop.training.reader.reader_recipe import ReaderRecipe


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
        int | None, typer.Option(min=1, help="Instead of the recipe's; more with --resume: go on.")
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
        asked = override(read_table(ReaderRecipe, file), start=start, formats=formats)
        if asked.formats is None and not (resume and recipe is None):  # a run has its own formats
            asked = override(asked, formats=formats_of_environment())
        asked = replace(
            asked,
            data=override(asked.data, crops=crops, labels=labels, font=font, validation=validation),
            training=override(
                asked.training, steps=steps, minutes=minutes, seed=seed, workers=workers
            ),
        )
        if steps is not None and asked.training.minutes is not None:
            raise SettingsError(f"length: wanted --steps or minutes, got {steps} steps and "
                                f"{asked.training.minutes} minutes")  # fmt: skip
        asked = asked.rehearsal() if rehearse else asked
        place = prepare_device(device, threads)

        from workshop.training.reader.reader_training import run

        run(asked, out, device=place, resume=resume)
