"""Recipe of the detector's training: all settings that affect the result, read from a TOML file."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.errors import SettingsError
from orchestrator.host.option_fields import check_ranges
from orchestrator.host.toml_files import check_range
from workshop.training.schedules import (
    Minutes,
    Rate,
    Seed,
    Share,
    check_extended,
    cosine,
    stretch_at,
)

Epochs = Annotated[int, typer.Option(min=1, max=100_000)]


@dataclass(frozen=True)
class DetectorData:
    """Training data of the detector.

    Attributes:
        pictures: Folder with `images/train`, `images/val` and `labels/...` in YOLO format.
        extra: More folders of training pictures, `.../images/NAME` beside `.../labels/NAME`.
    """

    pictures: Path | None = None
    extra: tuple[Path, ...] = ()


@dataclass(frozen=True)
class DetectorSchedule:
    """Length and learning rate of the detector's training.

    Attributes:
        minutes: Time of the whole run. After each epoch, `epochs` becomes what it allows. The time
            of a resumed run before its checkpoint counts, too.
        plain_epochs: Number of last epochs with whole pictures instead of mosaics.
        loaders: Number of processes that augment pictures; 0: the training process. It changes the
            pictures.
        side_px: Longer side of the letterboxed picture, a multiple of 32.
        rate: Peak of the learning rate of SGD.
        final_rate: End of the cosine, as a share of `rate`.
        warmup_epochs: Number of epochs in which the rate rises to its peak.
        frozen_layers: Number of first layers that are not trained. The first 3 take half of the
            backward pass; they find edges, which COCO has taught already.
        seed: Seed of augmentation and new weights.
        extension_rate: Peak of the new cosine of each extension of the run, as a share of `rate`.
        extended: Epochs at which the run was extended: its earlier ends.
    """

    epochs: Epochs = 20
    minutes: Minutes = None
    plain_epochs: Annotated[int, typer.Option(min=0, max=100_000)] = 2
    batch: Annotated[int, typer.Option(min=1, max=4096)] = 16
    loaders: Annotated[int, typer.Option(min=0, max=256)] = 0
    side_px: Annotated[int, typer.Option(min=32, max=4096)] = 640
    rate: Rate = 0.01
    final_rate: Share = 0.05
    warmup_epochs: Annotated[float, typer.Option(min=0, max=100_000)] = 1.0
    momentum: Share = 0.937
    decay: Share = 5e-4
    frozen_layers: Annotated[int, typer.Option(min=0, max=24)] = 3
    validate_every: Epochs = 1
    seed: Seed = 7
    extension_rate: Share = 0.3
    extended: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.side_px % 32:
            raise SettingsError(f"side_px: wanted a multiple of 32, got {self.side_px}")
        check_extended(self.extended, self.epochs)

    def rate_at(self, step: int, per_epoch: int) -> float:
        """Return the learning rate at a step; an epoch has `per_epoch` steps."""
        began, end = stretch_at(step // per_epoch, self.extended, self.epochs)
        steps, warm_up = (end - began) * per_epoch, int(self.warmup_epochs * per_epoch)
        if not began:
            return cosine(step, steps, warm_up, self.rate, self.final_rate)
        steps_before, peak = began * per_epoch, self.rate * self.extension_rate
        return cosine(step - steps_before, steps, min(warm_up, steps // 10), peak, self.final_rate)

    def replan(self, epoch: int, spent_s: float, epoch_s: float) -> DetectorSchedule:
        """Return the schedule with the epochs that its minutes allow, if it has minutes."""
        if self.minutes is None:
            return self
        epochs_left = max(0, int((60 * self.minutes - spent_s) / epoch_s))
        return replace(self, epochs=epoch + epochs_left)

    def is_mosaic(self, epoch: int) -> bool:
        """Tell whether an epoch uses mosaics; the last epochs before an end do not."""
        _, end = stretch_at(epoch, self.extended, self.epochs)
        return epoch < end - self.plain_epochs


@dataclass(frozen=True)
class Loss:
    """Loss gains of yolov5's hyp.scratch-low, with a lower `anchor_t` for plate-shaped anchors."""

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
    """Changes of training pictures by yolov5's names: strengths, degrees and probabilities.

    Attributes:
        weather: Share of pictures with night, blur, motion, noise or coarse compression. This one
            is our own.
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
    """Recipe for a training of the detector; `start` is a YOLOv5n checkpoint or state dict."""

    start: Path | None = None
    data: DetectorData = field(default_factory=DetectorData)
    training: DetectorSchedule = field(default_factory=DetectorSchedule)
    loss: Loss = field(default_factory=Loss)
    augmentation: Augmentation = field(default_factory=Augmentation)
