"""Recipe of the reader's training: all settings that affect the result, read from a TOML file."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.errors import SettingsError
from orchestrator.host.option_fields import check_ranges
from orchestrator.networks.registry import MAX_WIDTH
from workshop.training.schedules import (
    Batch,
    Count,
    CountOrNone,
    Minutes,
    Rate,
    Seed,
    Share,
    anneal,
    check_extended,
    cosine,
    stretch_at,
)

REHEARSED = 6
"""Steps of a rehearsal; the teacher learns in the first half of them."""
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
        two_line_share: Share of the rendered plates that have two lines, beside those by chance.
        hard_share: Share of all plates that are hard to read in one way: small, smeared or dark.
        doubled_share: Share of the rendered plates whose text gets two equal characters at one end.
        exchanged: Share of the real plates of cars that get characters of other real plates.
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
    two_line_share: Share = 0.0
    hard_share: Share = 0.0
    doubled_share: Share = 0.0
    exchanged: Share = 0.0

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
        steps: Total number of batches; without meaning if `minutes` are given.
        minutes: Time of the whole run in place of `steps`, from its start to the last batch. The
            time of a resumed run before its checkpoint counts, too.
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
        calibrated: Number of plates that the text scores are calibrated on at the end.
        save_every: Number of steps from checkpoint to checkpoint.
        seed: Seed of samples, weights and dropout.
        workers: Number of processes that make samples; it does not change the samples. 0: this
            process only; None: chosen by the number of cores.
        blind_sets: True to measure also on plates of two lines, and on held-out crops that are
            small, smeared or dark.
        moved: Share of the steps whose crops are shifted, stretched and sheared a little.
        means: Shares of the new weights in means with those of the start. The blind sets choose the
            one that is shipped. `(1.0,)`: the new weights alone.
        extension_rate: Peak of the new cosine of each extension of the run, as a share of `rate`.
        extended: Steps at which the run was extended: its earlier ends.
    """

    steps: Count = 8000
    minutes: Minutes = None
    batch: Annotated[int, typer.Option(min=2, max=65536)] = 64
    real_share: Share = 0.4
    rate: Rate = 1e-3
    warm_up: CountOrNone = 300
    stn_rate: Share = 0.3
    corner_weight: Annotated[float, typer.Option(min=0, max=1000)] = 1.0
    dropout: Annotated[float, typer.Option(min=0, max=0.9)] = 0.1
    width: Annotated[int, typer.Option(min=1, max=MAX_WIDTH)] = 2
    pool: Annotated[int, typer.Option(min=1, max=10_000_000)] = 4000
    typical: Annotated[int, typer.Option(min=1, max=1_000_000)] = 1500
    checked: Annotated[int, typer.Option(min=1, max=1_000_000)] = 600
    calibrated: Annotated[int, typer.Option(min=1, max=1_000_000)] = 1000
    save_every: Count = 250
    seed: Seed = 0
    workers: Annotated[int | None, typer.Option(min=0, max=256)] = None
    blind_sets: bool = False
    moved: Share = 0.0
    means: tuple[float, ...] = (1.0,)
    extension_rate: Share = 0.3
    extended: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        check_ranges(self)
        check_extended(self.extended, self.steps)
        if not self.means or not all(0 < share <= 1 for share in self.means):
            raise SettingsError(f"means: wanted shares over 0 and up to 1, got {self.means}")

    def done_at(self, step: int, spent_s: float) -> float:
        """Return the share of the run that is done, by its minutes or else by its steps."""
        return step / self.steps if self.minutes is None else spent_s / (60 * self.minutes)

    def rate_at(self, step: int, spent_s: float = 0.0) -> float:
        if self.minutes is not None:
            return anneal(self.done_at(step, spent_s), step, self.warm_up, self.rate)
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
class TeacherPlan:
    """Plan of a wider reader that learns beside the reader and teaches it; not part of the weights.

    Attributes:
        width: Width of its networks, at least that of the start; 0: no teacher.
        until: Share of the run in which it learns. After that it does not change.
        rate: Peak of its learning rate; warm-up, then a cosine to 1 % at `until`.
        beside: Weight of its columns in the reader's loss while it learns; that of the texts is
            the rest.
        after: The same after that.
    """

    width: Annotated[int, typer.Option(min=0, max=MAX_WIDTH)] = 0
    until: Share = 0.5
    rate: Rate = 1e-3
    beside: Share = 0.3
    after: Share = 0.6

    def __post_init__(self) -> None:
        check_ranges(self)


@dataclass(frozen=True)
class ReaderRecipe:
    """Recipe for a training of the reader.

    Attributes:
        start: Folder with `stn.pth` and `lprnet.pth` to start from; random weights when None.
        home: Folder of weights for one of the countries. Its reader goes on reading the plates that
            bear no sign of another country, and its STN straightens all plates.
        formats: File of the country's plate formats; that of Russian plates when None.
        data: Training data.
        training: Length and learning rate.
        corners: Schedule of the pretraining of STN.
        teacher: Plan of a teacher; it needs a start.
    """

    start: Path | None = None
    home: Path | None = None
    formats: Path | None = None
    data: ReaderData = field(default_factory=ReaderData)
    training: ReaderSchedule = field(default_factory=ReaderSchedule)
    corners: CornerSchedule = field(default_factory=CornerSchedule)
    teacher: TeacherPlan = field(default_factory=TeacherPlan)

    def check_start(self) -> None:
        """Check that there are weights to start from, if a teacher or a mean needs them.

        Raises:
            SettingsError: There are none. Or STN is trained, though it is that of `home`.
        """
        if self.start is None and (self.teacher.width or set(self.training.means) != {1.0}):
            raise SettingsError("start: wanted weights for a teacher or means (--start), got none")
        if self.home and (self.start is None or self.training.stn_rate):
            raise SettingsError(
                "home: wanted weights to start from and training.stn_rate 0, since the STN of "
                f"{self.home} is kept, got start {self.start}, stn_rate {self.training.stn_rate}"
            )

    def rehearsal(self) -> ReaderRecipe:
        """Return the same recipe in tiny sizes, to try data and machine before time is paid for."""
        training = replace(
            self.training, minutes=None, steps=REHEARSED, save_every=REHEARSED // 2, batch=8,
            pool=16, typical=16, checked=16, calibrated=32,
        )  # fmt: skip
        return replace(self, training=training)
