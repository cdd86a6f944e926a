"""Plates of a reader's training: those to learn from, and the sets to measure on."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from orchestrator.errors import SettingsError
from orchestrator.formats.plate_formats import Formats, read_formats
from workshop.rendering.country import Country, country_of
from workshop.rendering.samples.troubles import TROUBLES
from workshop.training.reader.crops import RealCrop, RealData, read_data
from workshop.training.reader.examination import Check
from workshop.training.reader.reader_recipe import ReaderData, ReaderRecipe, ReaderSchedule
from workshop.training.reader.sample_pools import Kind, to_input, vary
from workshop.training.reader.sample_workers import choose_workers, make_batch
from workshop.training.reader.sources import RealPlates, RenderedPlates, Source, check_font

log = logging.getLogger(__name__)

CHECK_SEED = 987_654
"""Seed of the plates that every run is measured on; no run trains on them."""
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
        choices: The recipe's choice of data.
        workers: Number of processes that make samples; 0: the training process.
    """

    file: Path
    formats: Formats
    country: Country | None
    data: RealData
    choices: ReaderData
    workers: int

    def real(self, crops: Sequence[RealCrop]) -> RealPlates:
        """Return the source of cuts from real crops."""
        new_codes = self.choices.new_codes if self.country else 0.0
        return RealPlates(
            tuple(crops),
            self.file,
            self.choices.most_of_region,
            new_codes,
            self.choices.small_share,
            self.choices.most_of_letter,
            self.choices.exchanged if self.country else 0.0,
            self.choices.hard_share,
        )

    def rendered(self) -> RenderedPlates:
        """Return the source of rendered plates."""
        return RenderedPlates(
            self.file,
            self.choices.font,
            self.choices.small_share,
            self.choices.even_share,
            self.choices.two_line_share,
            self.choices.hard_share,
            self.choices.doubled_share,
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


def make_checks(schedule: ReaderSchedule, material: Material) -> list[Check]:
    """Return the sets of plates that checkpoints are measured on.

    Rendered plates and held-out crops are there always. Blind sets are rendered plates of two
    lines, and held-out crops with one trouble each.
    """
    held_out, checks = material.data.held_out, []
    sources: dict[str, Source] = {}
    if schedule.real_share < 1:
        sources["rendered"] = rendered_plates = RenderedPlates(material.file)
        if schedule.blind_sets and material.country and material.country.two_lined:
            sources["two lines"] = replace(rendered_plates, two_line_share=1.0)
    if schedule.blind_sets and held_out:
        plates = RealPlates(tuple(held_out), material.file, hard_share=1.0)
        sources |= {f"held out, {name}": replace(plates, troubles=(name,)) for name in TROUBLES}
    for name, source in sources.items():
        batch = make_batch(source, schedule.checked, CHECK_SEED, material.workers)
        checks.append(Check.of(name, batch if name == "rendered" else batch.readable))
    return [*checks, *([Check.of_real(held_out)] if held_out else [])]


def typical_crops(schedule: ReaderSchedule, material: Material) -> Tensor:
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
    return vary(to_input(torch.from_numpy(crops[order])))
