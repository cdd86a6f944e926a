"""Recipe of the reader's training: all settings that affect the result, read from a TOML file."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.errors import SettingsError
from orchestrator.host.toml_files import check_range
from orchestrator.networks.registry import WIDEST
from workshop.training.schedules import check_extended, cosine, stretch_at

SHIPPED = Path(__file__).parents[1] / "recipes"
"""Folder of the project's own recipes, `detector.toml` and `reader.toml`."""

_MANY = 1_000_000_000
_SEEDS = 2**31


@dataclass(frozen=True)
class ReaderData:
    """Training data of the reader.

    Attributes:
        crops: Folder of plates cut from photos with margins; when None, rendered plates only.
        labels: CSV of the crops' texts.
        votes: Least number of votes of a drafted text, in files that have the column.
        font: TrueType font for some of the rendered plates.
        most_of_region: Greatest share of the real plates of a batch that one region has.
        new_codes: Share of the real plates of cars that get another region code, taken from
            another crop or rendered; for Russian plates whose corners are known.
        validation: Folder of crops with a `labels.csv`, to measure and calibrate on; when None,
            every eleventh photo of `crops`.
        small_share: Share of the plates that have few pixels, beside those that have few by chance.
        even_share: Share of the rendered plates whose format is drawn evenly, not by its share.
    """

    crops: Path | None = None
    labels: Path | None = None
    votes: int = 7
    font: Path | None = None
    validation: Path | None = None
    most_of_region: float = 0.05
    new_codes: float = 0.4
    small_share: float = 0.0
    even_share: float = 0.0

    def __post_init__(self) -> None:
        check_range("votes", self.votes, 0, 9)
        check_range("most_of_region", self.most_of_region, 0, 1)
        check_range("new_codes", self.new_codes, 0, 1)
        check_range("small_share", self.small_share, 0, 1)
        check_range("even_share", self.even_share, 0, 1)
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

    steps: int = 8000
    batch: int = 64
    real_share: float = 0.4
    rate: float = 1e-3
    warm_up: int = 300
    stn_rate: float = 0.3
    corner_weight: float = 1.0
    dropout: float = 0.1
    width: int = 2
    pool: int = 4000
    typical: int = 1500
    checked: int = 600
    save_every: int = 250
    seed: int = 0
    workers: int | None = None
    extension_rate: float = 0.3
    extended: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        check_range("steps", self.steps, 1, _MANY)
        check_range("batch", self.batch, 2, 65536)
        check_range("rate", self.rate, 1e-9, 1)
        check_range("warm_up", self.warm_up, 0, _MANY)
        check_range("corner_weight", self.corner_weight, 0, 1000)
        check_range("dropout", self.dropout, 0, 0.9)
        check_range("width", self.width, 1, WIDEST)
        check_range("pool", self.pool, 1, 10_000_000)
        check_range("typical", self.typical, 1, 1_000_000)
        check_range("checked", self.checked, 1, 1_000_000)
        check_range("save_every", self.save_every, 1, _MANY)
        check_range("seed", self.seed, 0, _SEEDS)
        check_range("workers", self.workers or 0, 0, 256)
        for share in ("real_share", "stn_rate", "extension_rate"):
            check_range(share, getattr(self, share), 0, 1)
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

    steps: int = 5000
    plates: int = 8000
    batch: int = 64
    rate: float = 1.5e-3
    warm_up: int = 200

    def __post_init__(self) -> None:
        check_range("steps", self.steps, 0, _MANY)
        check_range("plates", self.plates, 1, 10_000_000)
        check_range("batch", self.batch, 1, 65536)
        check_range("rate", self.rate, 1e-9, 1)
        check_range("warm_up", self.warm_up, 0, _MANY)

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
