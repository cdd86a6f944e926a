"""Recipe of the reader's training: all settings that affect the result, read from a TOML file."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.errors import SettingsError
from orchestrator.host.option_fields import check_ranges
from orchestrator.networks.registry import WIDEST
from workshop.training.schedules import (
    Batch,
    Count,
    CountOrNone,
    Rate,
    Seed,
    Share,
    check_extended,
    cosine,
    stretch_at,
)

SHIPPED = Path(__file__).parents[1] / "recipes"
"""Folder of the project's own recipes, `detector.toml` and `reader.toml`."""


@dataclass(frozen=True)
class ReaderData:
    """Training data of the reader.

    Attributes:
        crops: Folder of plates cut from photos with margins; when None, rendered plates only.
        labels: CSV of the crops' texts.
        votes: Least number of votes of a drafted text, in files that have the column.
        font: TrueType font for some of the rendered plates.
        most_of_region: Greatest share of the real plates of a batch that one region has.
        most_of_letter: The same of one first letter.
        new_codes: Share of the real plates of cars that get another region code, taken from
            another crop or rendered; for Russian plates whose corners are known.
        validation: Folder of crops with a `labels.csv`, to measure and calibrate on; when None,
            every eleventh photo of `crops`.
        small_share: Share of the plates that have few pixels, beside those that have few by chance.
        even_share: Share of the rendered plates whose format is drawn evenly, not by its share.
    """

    crops: Path | None = None
    labels: Path | None = None
    votes: Annotated[int, typer.Option(min=0, max=9)] = 7
    font: Path | None = None
    validation: Path | None = None
    most_of_region: Share = 0.05
    most_of_letter: Share = 0.09
    new_codes: Share = 0.4
    small_share: Share = 0.0
    even_share: Share = 0.0

    def __post_init__(self) -> None:
        check_ranges(self)
        if (self.crops is None) != (self.labels is None):
            got = f"crops {self.crops}, labels {self.labels}"
            raise SettingsError(
                f"data: wanted crops and labels or neither of them (--crops, --labels), got {got}"
            )


@dataclass(frozen=True)
class ReaderSchedule:
    """Length and learning rate of the reader's training.

    Attributes:
        steps: Total number of batches.
        batch: Plates per step.
        real_share: Share of a batch that is cut from real plates, if there are any.
        rate: Peak of AdamW's learning rate; warm-up from 0, then a cosine to 1 % of it.
        warm_up: Number of steps to the peak.
        stn_rate: Learning rate of STN as a share of the rate; STN has learned the corners before.
        corner_weight: Weight of the corner loss, relative to the reading loss.
        dropout: Share of LPRNet's features that a step drops, at two places.
        width: Width of both networks, in widths of the published ones.
        pool: Number of samples of a kind in memory; each is used about six times.
        typical: Number of samples from which batch normalisation takes its final statistics.
        checked: Number of rendered plates that every checkpoint is measured on.
        save_every: Number of steps from checkpoint to checkpoint.
        seed: Seed of samples, weights and dropout.
        workers: Number of processes that make samples; it does not change the samples. 0: this
            process only; None: chosen by the number of cores.
        extension_rate: Peak of the new cosine of each extension of the run, as a share of `rate`.
        extended: Steps at which the run was extended: its earlier ends.
    """

    steps: Count = 8000
    batch: Annotated[int, typer.Option(min=2, max=65536)] = 64
    real_share: Share = 0.4
    rate: Rate = 1e-3
    warm_up: CountOrNone = 300
    stn_rate: Share = 0.3
    corner_weight: Annotated[float, typer.Option(min=0, max=1000)] = 1.0
    dropout: Annotated[float, typer.Option(min=0, max=0.9)] = 0.1
    width: Annotated[int, typer.Option(min=1, max=WIDEST)] = 2
    pool: Annotated[int, typer.Option(min=1, max=10_000_000)] = 4000
    typical: Annotated[int, typer.Option(min=1, max=1_000_000)] = 1500
    checked: Annotated[int, typer.Option(min=1, max=1_000_000)] = 600
    save_every: Count = 250
    seed: Seed = 0
    workers: Annotated[int | None, typer.Option(min=0, max=256)] = None
    extension_rate: Share = 0.3
    extended: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        check_ranges(self)
        check_extended(self.extended, self.steps)

    def rate_at(self, step: int) -> float:
        began, end = stretch_at(step, self.extended, self.steps)
        if not began:
            return cosine(step, end, self.warm_up, self.rate)
        steps, peak = end - began, self.rate * self.extension_rate
        return cosine(step - began, steps, min(self.warm_up, steps // 10), peak)


@dataclass(frozen=True)
class CornerSchedule:
    """Schedule of STN's pretraining on the corners of rendered plates.

    Attributes:
        steps: Total number of batches; 0 leaves STN unchanged. The pretraining is skipped if the
            training starts from trained weights, or has only real crops, without known corners.
        plates: Number of rendered plates from which the batches are drawn.
        batch: Plates per step.
        rate: Peak of AdamW's learning rate; warm-up from 0, then a cosine to 1 % of it.
        warm_up: Number of steps to the peak.
    """

    steps: CountOrNone = 5000
    plates: Annotated[int, typer.Option(min=1, max=10_000_000)] = 8000
    batch: Batch = 64
    rate: Rate = 1.5e-3
    warm_up: CountOrNone = 200

    def __post_init__(self) -> None:
        check_ranges(self)

    def rate_at(self, step: int) -> float:
        return cosine(step, self.steps, self.warm_up, self.rate)


@dataclass(frozen=True)
class ReaderRecipe:
    """Recipe for a training of the reader.

    Attributes:
        start: Folder with `stn.pth` and `lprnet.pth` to start from; random weights when None.
        formats: File of the country's plate formats; that of Russian plates when None.
        data: Training data.
        training: Length and learning rate.
        corners: Schedule of the pretraining of STN.
    """

    start: Path | None = None
    formats: Path | None = None
    data: ReaderData = field(default_factory=ReaderData)
    training: ReaderSchedule = field(default_factory=ReaderSchedule)
    corners: CornerSchedule = field(default_factory=CornerSchedule)
