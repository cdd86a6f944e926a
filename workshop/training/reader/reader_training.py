"""Training of the reader: STN and LPRNet together, with CTC, on rendered and real plates.

The command is `plates train reader`; see docs/training.md.
"""

from __future__ import annotations

import logging
from contextlib import closing
from functools import partial
from pathlib import Path

import torch

from orchestrator.errors import PlateError
from orchestrator.formats.plate_formats import RUSSIA, Formats
from workshop.training.canaries import write_canary
from workshop.training.reader.corners import teach_corners
from workshop.training.reader.crops import write_dropped
from workshop.training.reader.distillation import DistillingTrainer
from workshop.training.reader.examination import Check, Examiner, mean_accuracy
from workshop.training.reader.finishing import finish
from workshop.training.reader.home_reader import read_home_reader
from workshop.training.reader.material import Material, gather, make_checks, typical_crops
from workshop.training.reader.reader_recipe import ReaderRecipe
from workshop.training.reader.reader_trainer import CHECKPOINT, CPU, ReaderTrainer, settle
from workshop.training.reader.sample_pools import Pools
from workshop.training.reader.sample_workers import make_batch
from workshop.training.reader.sources import RenderedPlates
from workshop.training.runs import Progress, Stopwatch, complete, open_run

log = logging.getLogger(__name__)


def run(recipe: ReaderRecipe, out: Path, *, device: torch.device = CPU, resume: bool) -> None:
    """Train a reader by its recipe to the end, in the folder `out`, for its country's plates.

    Raises:
        SettingsError: The recipe, its data, its country or the folder cannot be used.
        WeightsError: The weights to start from cannot be used.
    """
    watch = Stopwatch()
    formats = recipe.formats or RUSSIA
    material = gather(recipe, formats)
    trainer = make_trainer(recipe, material.formats, device)
    if recipe.home:
        read_home_reader(recipe.home, material.formats)  # its errors come before the training
        trainer.reader.stn.requires_grad_(False)  # it is kept: a step takes a quarter less time
    if recipe.start and not resume:
        trainer.begin_with(recipe.start)
    recipe = open_run(out, recipe, CHECKPOINT, formats, resume=resume)
    trainer.schedule = recipe.training
    write_dropped(material.data.dropped, out)
    if resume:
        trainer.load(out / CHECKPOINT)
        watch.before_s = trainer.spent_s
        log.info("going on from step %d of %s", trainer.step, out)
    else:
        if not recipe.start:
            _teach_corners(trainer, recipe, material)
        trainer.average.module.load_state_dict(trainer.reader.state_dict())
        trainer.save(out)
    checks = make_checks(trainer.schedule, material)
    train(trainer, out, material, checks, watch)
    finish(trainer, out, material, checks, recipe.home)
    try:  # the weights are written: a country that cannot be drawn any more is no error
        write_canary(out, material.country)
    except PlateError as error:
        log.warning("no picture for the health check: %s", error)


def make_trainer(recipe: ReaderRecipe, formats: Formats, device: torch.device) -> ReaderTrainer:
    """Return the trainer of a recipe, with a teacher if it plans one.

    Raises:
        SettingsError: The recipe needs weights to start from, and has none.
    """
    recipe.check_start()
    if recipe.teacher.width:
        return DistillingTrainer(recipe.training, formats, recipe.teacher, device)
    return ReaderTrainer(recipe.training, formats, device)


def _teach_corners(trainer: ReaderTrainer, recipe: ReaderRecipe, material: Material) -> None:
    """Train a new STN on the corners of rendered plates, if the recipe renders any."""
    schedule, seed = recipe.corners, recipe.training.seed
    if schedule.steps and recipe.training.real_share < 1:
        log.info("rendering %d plates to teach where their corners are", schedule.plates)
        source = RenderedPlates(material.file)
        batch = make_batch(source, schedule.plates, seed, material.workers)
        teach_corners(trainer.reader.stn, batch, schedule, seed)


def train(
    trainer: ReaderTrainer, out: Path, material: Material, checks: list[Check], watch: Stopwatch
) -> None:
    """Train to the end of the schedule; each checkpoint is measured and can be served."""
    schedule = trainer.schedule
    typical = typical_crops(schedule, material).to(trainer.device)
    if isinstance(trainer, DistillingTrainer):
        trainer.typical = typical
        trainer.judge = partial(mean_accuracy, checks=checks, alphabet=material.formats.alphabet)
    examiner = Examiner(checks, typical, out, trainer.step)
    examiner.examine(trainer)
    if trainer.share_done >= 1:
        return
    pools = Pools(
        material.kinds(schedule), schedule.pool, step=trainer.step, workers=material.workers,
        device=trainer.device,
    )  # fmt: skip
    progress = Progress(schedule.steps, trainer.step)
    with closing(pools):
        while trainer.share_done < 1:
            loss = trainer.train_on(pools.draw())
            trainer.spent_s = watch.seconds
            progress.log(trainer.step, loss, trainer.left_s)
            if trainer.step % schedule.save_every == 0 or trainer.share_done >= 1:
                settle(trainer.averaged, typical)
                trainer.save(out)
                complete(out)
                examiner.examine(trainer)
