"""Recipes of trainings: everything that decides what comes out, read from one TOML file."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.errors import SettingsError
from orchestrator.networks.registry import WIDEST
from orchestrator.toml_files import check_range
from training.paces import check_extended, cosine, stretch_at

SHIPPED = Path(__file__).with_name("recipes")
"""The recipes that the project's own weights are trained with, `detector.toml`, `reader.toml`."""

_MANY = 1_000_000_000
_SEEDS = 2**31


@dataclass(frozen=True)
class ReaderData:
    """What the reader learns from.

    Attributes:
        crops: Folder of plates cut from photos, margins included; rendered plates alone when None.
        labels: CSV of the crops' texts.
        votes: Least number of votes of a drafted text, in files that have the column.
        font: TrueType font for some of the rendered plates.
        validation: Folder of crops with a `labels.csv`, to measure and calibrate on; every
            eleventh photo of `crops` when None.
    """

    crops: Path | None = None
    labels: Path | None = None
    votes: int = 7
    font: Path | None = None
    validation: Path | None = None

    def __post_init__(self) -> None:
        check_range("votes", self.votes, 0, 9)
        if (self.crops is None) != (self.labels is None):
            given = f"crops {self.crops}, labels {self.labels}"
            raise SettingsError(
                f"data: wanted crops and labels or neither of them (--crops, --labels), got {given}"
            )


@dataclass(frozen=True)
class ReaderSchedule:
    """Length and pace of the reader's training.

    Attributes:
        steps: Batches in all.
        batch: Plates a step.
        real_share: Part of a batch that is cut from real plates, when there are any.
        rate: Peak of AdamW's learning rate; warm-up from 0, then a cosine to 1 % of it.
        warm_up: Steps to the peak.
        stn_rate: Part of the rate that STN gets, which has learned the corners before.
        corner_weight: Weight of the corners' loss beside the reading's.
        dropout: Part of LPRNet's features that a step leaves out, twice.
        width: Of both networks, in that of the published ones.
        pool: Samples of a kind in memory; each is used about six times.
        typical: Samples that batch normalisation takes its final statistics from.
        checked: Rendered plates that every checkpoint is measured on.
        save_every: Steps from checkpoint to checkpoint.
        seed: Of samples, weights and dropout.
        workers: Processes that make samples, which stay the same ones; 0: this process alone;
            None: as many as the cores bear.
        extension_rate: Part of `rate` from which a new cosine falls where the run was extended.
        extended: Steps at which it was: the ends that the run had before.
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
    """How STN learns the corners of rendered plates before LPRNet learns to read.

    Attributes:
        steps: Batches in all; 0 to leave STN as it is. None are taken when the training starts
            from trained weights, or has real crops only, whose corners are not known.
        plates: Rendered plates that the batches are drawn from.
        batch: Plates a step.
        rate: Peak of AdamW's learning rate; warm-up from 0, then a cosine to 1 % of it.
        warm_up: Steps to the peak.
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
    """A training of the reader.

    Attributes:
        start: Folder with `stn.pth` and `lprnet.pth` to start from; random weights when None.
        formats: File of what the country's plates may say; that of Russian plates when None.
        data: What it learns from.
        training: Length and pace.
        corners: The lesson before.
    """

    start: Path | None = None
    formats: Path | None = None
    data: ReaderData = field(default_factory=ReaderData)
    training: ReaderSchedule = field(default_factory=ReaderSchedule)
    corners: CornerSchedule = field(default_factory=CornerSchedule)


@dataclass(frozen=True)
class DetectorData:
    """What the detector learns from.

    Attributes:
        pictures: Folder with `images/train`, `images/val` and `labels/...` in YOLO format.
        extra: More folders of training pictures, `.../images/NAME` beside `.../labels/NAME`.
    """

    pictures: Path | None = None
    extra: tuple[Path, ...] = ()


@dataclass(frozen=True)
class DetectorSchedule:
    """Length and pace of the detector's training.

    Attributes:
        epochs: Passes over the training pictures.
        plain_epochs: Of them, at the end: whole pictures instead of mosaics.
        batch: Pictures a step.
        side_px: Longer side of the letterboxed picture, a multiple of 32.
        rate: Peak of the learning rate of SGD.
        final_rate: Part of `rate` that a cosine falls to.
        warmup_epochs: Epochs in which the rate climbs to its peak.
        momentum: Of SGD, Nesterov's.
        decay: Weight decay.
        frozen_layers: First layers that stay as they are; 3 of them are half of the backward pass,
            for edges that COCO has taught already.
        validate_every: Epochs from measurement to measurement.
        seed: Of augmentation and fresh weights.
        extension_rate: Part of `rate` from which a new cosine falls where the run was extended.
        extended: Epochs at which it was: the ends that the run had before.
    """

    epochs: int = 20
    plain_epochs: int = 2
    batch: int = 16
    side_px: int = 640
    rate: float = 0.01
    final_rate: float = 0.05
    warmup_epochs: float = 1.0
    momentum: float = 0.937
    decay: float = 5e-4
    frozen_layers: int = 3
    validate_every: int = 1
    seed: int = 7
    extension_rate: float = 0.3
    extended: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        check_range("epochs", self.epochs, 1, 100_000)
        check_range("plain_epochs", self.plain_epochs, 0, 100_000)
        check_range("batch", self.batch, 1, 4096)
        check_range("side_px", self.side_px, 32, 4096)
        if self.side_px % 32:
            raise SettingsError(f"side_px: wanted a multiple of 32, got {self.side_px}")
        check_range("rate", self.rate, 1e-9, 1)
        check_range("warmup_epochs", self.warmup_epochs, 0, 100_000)
        check_range("frozen_layers", self.frozen_layers, 0, 24)
        check_range("validate_every", self.validate_every, 1, 100_000)
        check_range("seed", self.seed, 0, _SEEDS)
        for share in ("final_rate", "momentum", "decay", "extension_rate"):
            check_range(share, getattr(self, share), 0, 1)
        check_extended(self.extended, self.epochs)

    def rate_at(self, step: int, per_epoch: int) -> float:
        """Learning rate at a step of so many an epoch."""
        began, end = stretch_at(step // per_epoch, self.extended, self.epochs)
        steps, warm_up = (end - began) * per_epoch, int(self.warmup_epochs * per_epoch)
        if not began:
            return cosine(step, steps, warm_up, self.rate, self.final_rate)
        done, peak = began * per_epoch, self.rate * self.extension_rate
        return cosine(step - done, steps, min(warm_up, steps // 10), peak, self.final_rate)

    def is_mosaic(self, epoch: int) -> bool:
        """Tell whether an epoch shows mosaics: not the last ones before an end."""
        _, end = stretch_at(epoch, self.extended, self.epochs)
        return epoch < end - self.plain_epochs


@dataclass(frozen=True)
class Loss:
    """Gains of yolov5's hyp.scratch-low; `anchor_t` is lower: every anchor here is plate-shaped."""

    box: float = 0.05
    cls: float = 0.5
    cls_pw: float = 1.0
    obj: float = 1.0
    obj_pw: float = 1.0
    anchor_t: float = 3.0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            check_range(name, value, 0, 1000)


@dataclass(frozen=True)
class Augmentation:
    """How training pictures are changed, in yolov5's names: strengths, degrees and chances.

    Attributes:
        weather: Part of them that get night, blur, motion, noise or coarse compression; our own.
    """

    weather: float = 0.35
    hsv_h: float = 0.015
    hsv_s: float = 0.6
    hsv_v: float = 0.4
    degrees: float = 13.0
    translate: float = 0.1
    scale: float = 0.7
    shear: float = 5.0
    perspective: float = 0.0003
    flipud: float = 0.0
    fliplr: float = 0.5
    mosaic: float = 1.0
    mixup: float = 0.0
    copy_paste: float = 0.0

    def __post_init__(self) -> None:
        angles = ("degrees", "shear")
        for name, value in vars(self).items():
            check_range(name, value, 0, 180 if name in angles else 1)


@dataclass(frozen=True)
class DetectorRecipe:
    """A training of the detector; `start` is a checkpoint or a state dict of YOLOv5n."""

    start: Path | None = None
    data: DetectorData = field(default_factory=DetectorData)
    training: DetectorSchedule = field(default_factory=DetectorSchedule)
    loss: Loss = field(default_factory=Loss)
    augmentation: Augmentation = field(default_factory=Augmentation)
