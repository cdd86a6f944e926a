"""Training of the reader: STN and LPRNet together, with CTC, on rendered and real plates.

The command is `plates train reader`; see docs/training.md.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import closing
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from orchestrator.errors import PlateError, SettingsError
from orchestrator.formats.plate_formats import RUSSIA, Formats, read_formats
from workshop.rendering.country import Country, country_of
from workshop.rendering.samples.synth import Batch
from workshop.training.canaries import write_canary
from workshop.training.reader.calibration import calibrate, choose_plates
from workshop.training.reader.corners import teach_corners
from workshop.training.reader.crops import RealCrop, RealData, read_data, write_dropped
from workshop.training.reader.examination import Check, Examiner
from workshop.training.reader.initial_weights import take_weights
from workshop.training.reader.reader_recipe import ReaderData, ReaderRecipe, ReaderSchedule
from workshop.training.reader.reader_trainer import (
    CHECKPOINT,
    CPU,
    ReaderTrainer,
    save_lprnet,
    settle,
)
from workshop.training.reader.sample_pools import Kind, Pools, to_input, vary
from workshop.training.reader.sample_workers import choose_workers, make_batch
from workshop.training.reader.sources import RealPlates, RenderedPlates, Source, check_font
from workshop.training.runs import Progress, complete, open_run

log = logging.getLogger(__name__)

CHECK_SEED = 987_654
"""Seed of the rendered plates that every run is measured on; no run trains on them."""
TYPICAL_SEED = 333_333
"""Added to a run's seed for the samples from which batch normalisation takes its statistics."""


@dataclass(frozen=True)
class Material:
    """Sources of a training's plates.

    Attributes:
        file: File of the plate formats.
        formats: The formats read from it.
        country: Country of the rendered plates; None if they cannot be rendered.
        data: Real crops.
        chosen: The recipe's choice of data.
        workers: Number of processes that make samples; 0: the training process.
    """

    file: Path
    formats: Formats
    country: Country | None
    data: RealData
    chosen: ReaderData
    workers: int

    def real(self, crops: Sequence[RealCrop]) -> RealPlates:
        """Return the source of cuts from real crops."""
        new_codes = self.chosen.new_codes if self.country else 0.0
        return RealPlates(
            tuple(crops),
            self.file,
            self.chosen.most_of_region,
            new_codes,
            self.chosen.small_share,
            self.chosen.most_of_letter,
        )

    def rendered(self) -> RenderedPlates:
        """Return the source of rendered plates."""
        return RenderedPlates(
            self.file, self.chosen.font, self.chosen.small_share, self.chosen.even_share
        )

    def kinds(self, schedule: ReaderSchedule) -> list[Kind]:
        """Return the kinds of samples in a batch."""
        real = round(schedule.batch * schedule.real_share) if self.data.training else 0
        sources: list[tuple[Source, int]] = [
            (self.rendered(), schedule.batch - real),
            (self.real(self.data.training), real),
        ]
        parts = [(source, count) for source, count in sources if count]
        return [
            Kind(source, count, 2 * schedule.seed + index)
            for index, (source, count) in enumerate(parts)
        ]


def run(recipe: ReaderRecipe, out: Path, *, device: torch.device = CPU, resume: bool) -> None:
    """Train a reader by its recipe to the end, in the folder `out`, for its country's plates.

    Raises:
        SettingsError: The recipe, its data, its country or the folder cannot be used.
        WeightsError: The weights to start from cannot be used.
    """
    formats = recipe.formats or RUSSIA
    material = gather(recipe, formats)
    alphabet = material.formats.alphabet
    trainer = ReaderTrainer(recipe.training, material.formats, device)
    if recipe.start and not resume:
        take_weights(trainer.reader.stn, trainer.reader.lprnet, recipe.start, alphabet)
    recipe = open_run(out, recipe, CHECKPOINT, formats, resume=resume)
    trainer.schedule = recipe.training
    write_dropped(material.data.dropped, out)
    if resume:
        trainer.load(out / CHECKPOINT)
        log.info("going on from step %d of %s", trainer.step, out)
    else:
        if not recipe.start:
            _teach_corners(trainer, recipe, material)
        trainer.average.module.load_state_dict(trainer.reader.state_dict())
        trainer.save(out)
    train(trainer, out, material)
    try:  # the weights are written: a country that cannot be drawn any more is no error
        _calibrate(trainer, out, material)
    except PlateError as error:
        log.warning("text scores are not calibrated: %s", error)
    try:
        write_canary(out, material.country)
    except PlateError as error:
        log.warning("no picture for the health check: %s", error)


def gather(recipe: ReaderRecipe, formats: Path) -> Material:
    """Read the real crops of a recipe, and find the renderer of the other plates.

    Raises:
        SettingsError: The crops or the font cannot be used, or the recipe needs rendered plates
            that cannot be rendered.
    """
    plates, schedule = read_formats(formats), recipe.training
    if recipe.data.font:
        check_font(recipe.data.font)
    data = read_data(recipe.data, plates, train=schedule.real_share > 0)
    if schedule.real_share == 1 and not data.training:
        raise SettingsError("real_share: wanted crops and labels for a share of 1, got none")
    country = _find_country(formats, is_needed=schedule.real_share < 1 or not data.training)
    workers = choose_workers(schedule.workers)
    return Material(formats.absolute(), plates, country, data, recipe.data, workers)


def _find_country(formats: Path, *, is_needed: bool) -> Country | None:
    try:
        return country_of(formats)
    except SettingsError as error:
        if is_needed:
            raise
        log.info("plates are not rendered: %s", error)
        return None


def _teach_corners(trainer: ReaderTrainer, recipe: ReaderRecipe, material: Material) -> None:
    """Train a new STN on the corners of rendered plates, if the recipe renders any."""
    schedule, seed = recipe.corners, recipe.training.seed
    if schedule.steps and recipe.training.real_share < 1:
        log.info("rendering %d plates to teach where their corners are", schedule.plates)
        source = RenderedPlates(material.file)
        drawn = make_batch(source, schedule.plates, seed, material.workers)
        teach_corners(trainer.reader.stn, drawn, schedule, seed)


def train(trainer: ReaderTrainer, out: Path, material: Material) -> None:
    """Train to the end of the schedule; each checkpoint is measured and can be served."""
    schedule = trainer.schedule
    typical = _typical(schedule, material).to(trainer.device)
    examiner = Examiner(_checks(schedule, material), typical, out, trainer.step)
    examiner.examine(trainer)
    if trainer.step == schedule.steps:
        return
    pools = Pools(
        material.kinds(schedule), schedule.pool, step=trainer.step, workers=material.workers
    )
    progress = Progress(schedule.steps, trainer.step)
    with closing(pools):
        while trainer.step < schedule.steps:
            loss = trainer.train_on(Batch.of(pools.draw()))
            progress.log(trainer.step, loss)
            if trainer.step % schedule.save_every == 0 or trainer.step == schedule.steps:
                settle(trainer.averaged, typical)
                trainer.save(out)
                complete(out)
                examiner.examine(trainer)


def _checks(schedule: ReaderSchedule, material: Material) -> list[Check]:
    """Return the sets of plates that checkpoints are measured on."""
    checks = []
    if schedule.real_share < 1:
        source = RenderedPlates(material.file)
        drawn = make_batch(source, schedule.checked, CHECK_SEED, material.workers)
        checks.append(Check.of_rendered(drawn))
    if material.data.held_out:
        checks.append(Check.of_real(material.data.held_out))
    return checks


def _typical(schedule: ReaderSchedule, material: Material) -> Tensor:
    """Return crops like those of training, the same at every step: (N, 3, 24, 94)."""
    parts = [
        make_batch(
            kind.source,
            max(1, schedule.typical * kind.count // schedule.batch),
            TYPICAL_SEED + kind.seed,
            material.workers,
        ).crops
        for kind in material.kinds(schedule)
    ]
    crops = np.concatenate(parts)
    order = np.random.default_rng([schedule.seed, 2]).permutation(len(crops))
    torch.manual_seed(schedule.seed)
    return vary(to_input(crops[order]))


def _calibrate(trainer: ReaderTrainer, out: Path, material: Material) -> None:
    """Calibrate LPRNet's text scores as probabilities, and write it again."""
    seed = trainer.schedule.seed
    source = RenderedPlates(material.file) if material.country else None
    held_out = material.real(material.data.held_out) if material.data.held_out else None
    plates = choose_plates(held_out, source, seed, material.workers)
    if plates is None:
        return
    reader = deepcopy(trainer.averaged)
    temperature = calibrate(reader, reader.lprnet, plates, material.formats)
    save_lprnet(reader.lprnet, material.formats.alphabet, out)
    complete(out)
    log.info("calibrated text scores: logits divided by %.2f", temperature)
