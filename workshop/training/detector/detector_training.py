"""Training of YOLOv5n to find number plates, on one CPU core or a GPU.

The network, its loss and its augmentation come from the `yolov5` package (Poetry group `train`).
It lacks some features on a CPU, which the loop here adds: bfloat16 with channels-last memory, a
frozen stem and anchors for wide plates. The loop also adds a resume that continues the same run.

The command is `plates train detector`; see docs/training.md.
"""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.utils.data import DataLoader

from orchestrator.contract import DETECTOR
from orchestrator.errors import SettingsError
from orchestrator.formats.plate_formats import RUSSIA
from orchestrator.imaging.files import Bgr
from orchestrator.networks.registry import NETWORKS
from workshop.evaluation.datasets import label_folder
from workshop.rendering.camera import photograph, shrink
from workshop.training.detector.detector_recipe import (
    Augmentation,
    DetectorData,
    DetectorRecipe,
    DetectorSchedule,
    Loss,
)
from workshop.training.detector.detector_trainer import BEST, LAST, DetectorTrainer, seed_everything
from workshop.training.metrics import DetectorRow, Metrics, can_draw, draw_detector
from workshop.training.runs import Progress, Stopwatch, complete, open_run, save_tensors

SURROUNDED = 1.5
"""Width of a plate with its surroundings, in widths of the plate."""
NO_PLATE_PX = 80.0
"""Width of a plate that is assumed for pictures without a plate."""
MIN_COARSE_SCALE = 0.45
"""Smallest scale to which a picture is shrunk before it is enlarged again."""


class Weather:
    """Changes training pictures like bad light, speed and bad cameras; boxes do not move.

    It replaces yolov5's `Albumentations`, which is called after the pictures are turned and
    combined.
    """

    def __init__(self, share: float) -> None:
        """Set the share of changed pictures.

        Args:
            share: Share of the pictures that are changed, in [0, 1].
        """
        self.share = share

    def __call__(
        self, picture: Bgr, labels: NDArray[np.float64], p: float = 1.0
    ) -> tuple[Bgr, NDArray[np.float64]]:
        """Change a picture, or return it unchanged.

        Args:
            picture: (H, W, 3) uint8 BGR.
            labels: (N, 5) class and box xywh, relative to the picture's size.
            p: Factor on the share; a parameter of yolov5's `Albumentations`.
        """
        # yolov5 draws from the global generator, which every epoch seeds anew.
        rng = np.random.default_rng(np.random.randint(2**31))  # noqa: NPY002
        if rng.random() >= self.share * p:
            return picture, labels
        wide = picture.shape[1]
        width_px = float(np.median(labels[:, 3])) * wide if len(labels) else NO_PLATE_PX
        if rng.random() < 0.25:
            picture = _coarsen(rng, picture)
        return photograph(rng, picture, max(8.0, SURROUNDED * width_px)), labels


def _coarsen(rng: np.random.Generator, picture: Bgr) -> Bgr:
    """Shrink a picture and enlarge it again, like a camera's digital zoom."""
    size_wh: Sequence[int] = picture.shape[1::-1]
    small = shrink(picture, float(rng.uniform(MIN_COARSE_SCALE, 1)))
    return cv2.resize(small, size_wh, interpolation=cv2.INTER_LINEAR).astype(np.uint8)


logger = logging.getLogger(__name__)

CPU = torch.device("cpu")

# The anchors are k-means over (log width, log height) of the training plates at 640 px, scaled by
# 0.5 to 1.5. COCO's anchors are square or tall; plates are 3 to 4 times as wide as high.
ANCHORS_WH = (
    (20, 6, 30, 9, 42, 12),
    (56, 16, 78, 24, 108, 30),
    (150, 44, 220, 60, 340, 95),
)


def run(recipe: DetectorRecipe, out: Path, *, device: torch.device = CPU, resume: bool) -> None:
    """Train a detector by its recipe to the end, in the folder `out`.

    Raises:
        SettingsError: The recipe, its data, the folder or the `yolov5` package cannot be used.
    """
    watch = Stopwatch()
    check_package()
    folders, validation = find_folders(recipe.data)
    seed_everything(recipe.training.seed)
    model = build(None if resume else recipe.start, recipe.training.side_px, recipe.loss)
    trainer = DetectorTrainer(model.to(device), recipe.training, out)
    recipe = open_run(out, recipe, LAST, RUSSIA, resume=resume)
    trainer.recipe = recipe.training
    if resume:
        trainer.resume()
        watch.before_s = trainer.spent_s
        logger.info("going on from the end of epoch %d of %s", trainer.epoch, out)
    else:
        trainer.save(LAST)
    loaders = open_loaders(folders, validation, recipe.training, recipe.augmentation)
    fit(trainer, *loaders, watch)


def check_package() -> None:
    """Check that the `yolov5` package can be imported, and limit its log to warnings.

    Raises:
        SettingsError: The package cannot be imported; the serving environment does not have it.
    """
    os.environ.setdefault("PIN_MEMORY", str(torch.cuda.is_available()))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it is older than the packages that it imports
            import yolov5.val  # noqa: F401
    except ImportError as error:
        raise SettingsError(
            f"wanted the yolov5 package, got: {error}; make train-env, then .venv-train/bin/plates"
        ) from error
    logging.getLogger("yolov5").setLevel(logging.WARNING)


def find_folders(data: DetectorData) -> tuple[list[Path], Path]:
    """Return the folders of training pictures and the folder of validation pictures.

    Raises:
        SettingsError: A folder is missing or empty, or has no folder of labels beside it.
    """
    if data.pictures is None:
        raise SettingsError("pictures: wanted a data set in YOLO format, got none; give --data")
    images = data.pictures / "images"
    folders, validation = [images / "train", *data.extra], images / "val"
    for folder in (*folders, validation):
        if not folder.is_dir() or not any(folder.iterdir()):
            raise SettingsError(f"{folder}: wanted pictures, got no such folder or an empty one")
        labels = label_folder(folder)
        if not labels.is_dir():
            raise SettingsError(f"{labels}: wanted labels in YOLO format, got no such folder")
    return folders, validation


def build(weights: Path | None, side_px: int, loss: Loss | None = None) -> Any:
    """Return the `yolov5` package's YOLOv5n for one class, with `weights` where shapes agree."""
    import yolov5
    from yolov5.models.yolo import Model

    model = Model(Path(yolov5.__file__).parent / "models" / "yolov5n.yaml", ch=3, nc=1)
    if weights is not None:
        take_weights(model, weights)
    head = model.model[-1]
    head.anchors.copy_(torch.tensor(ANCHORS_WH).view(3, 3, 2) / head.stride.view(3, 1, 1))
    model.hyp = {**asdict(loss or Loss()), "fl_gamma": 0.0, "label_smoothing": 0.0}
    model.hyp["obj"] *= (side_px / 640) ** 2
    model.names = {0: "plate"}
    return model.to(memory_format=torch.channels_last)


def take_weights(model: nn.Module, weights: Path) -> None:
    """Copy the tensors of equal name and shape from a checkpoint or a state dict."""
    # Published YOLOv5 checkpoints are pickled modules. Loading runs their code: trusted files only.
    checkpoint = torch.load(weights, map_location="cpu", weights_only=False)
    source = checkpoint.get("ema") or checkpoint.get("model") or checkpoint
    tensors = source if isinstance(source, dict) else source.float().state_dict()
    own = model.state_dict()
    same = {
        name: tensor
        for name, tensor in tensors.items()
        if name in own and tensor.shape == own[name].shape
    }
    model.load_state_dict(same, strict=False)
    logger.info("took %d of %d tensors from %s", len(same), len(own), weights.name)


def open_loaders(
    folders: Sequence[Path],
    validation: Path,
    recipe: DetectorSchedule,
    augmentation: Augmentation,
) -> tuple[Any, Any]:
    """Return loaders of augmented training batches and of plain validation batches."""
    changes = asdict(augmentation)
    weather = Weather(changes.pop("weather"))
    from yolov5.utils.dataloaders import create_dataloader

    train, _ = create_dataloader(
        [str(folder) for folder in folders], recipe.side_px, recipe.batch, 32, single_cls=True,
        hyp=changes, augment=True, cache="ram", workers=recipe.loaders, shuffle=True,
        seed=recipe.seed,
    )  # fmt: skip
    train.dataset.albumentations = weather
    plain, _ = create_dataloader(
        str(validation), recipe.side_px, recipe.batch, 32, single_cls=True, hyp=changes,
        rect=True, pad=0.5, cache="ram", workers=0,
    )  # fmt: skip
    return train, plain


def fit(trainer: DetectorTrainer, train: Any, validation: Any, watch: Stopwatch) -> None:
    """Run the remaining epochs; save `last.pt` after each, `best.pt` by mAP50 + mAP50-95.

    Every epoch seeds order and augmentation anew, so that a resumed run is exactly the same.
    """
    per_epoch = len(train)
    metrics, draws = Metrics(DetectorRow, trainer.out, trainer.epoch), can_draw()
    progress = Progress(trainer.recipe.epochs * per_epoch, trainer.epoch * per_epoch)
    if trainer.epoch == 0 and not metrics.has(0):
        measure(trainer, validation, metrics, per_epoch)
    began, began_s = trainer.epoch, watch.seconds
    while trainer.epoch < trainer.recipe.epochs:
        recipe = trainer.recipe
        train.dataset.mosaic = recipe.is_mosaic(trainer.epoch)  # loaders take a copy of it
        seed_everything(recipe.seed + trainer.epoch)
        train.generator.manual_seed(recipe.seed + trainer.epoch)
        train.iterator = DataLoader.__iter__(train)  # at its end, the old one would draw again
        trainer.run_epoch(train, progress)
        trainer.spent_s = watch.seconds
        epoch_s = (trainer.spent_s - began_s) / (trainer.epoch - began)
        trainer.recipe = recipe.replan(trainer.epoch, trainer.spent_s, epoch_s)
        progress.plan(trainer.recipe.epochs * per_epoch)
        if trainer.epoch % recipe.validate_every == 0 or trainer.epoch == trainer.recipe.epochs:
            row = measure(trainer, validation, metrics, per_epoch)
            if draws:
                draw_detector(metrics.rows, trainer.out)
            if row.map50 + row.map50_95 >= trainer.best:
                trainer.best = row.map50 + row.map50_95
                trainer.save(BEST)
                export_average(trainer.out / BEST, trainer.out / NETWORKS[DETECTOR].weights)
                complete(trainer.out)
        trainer.save(LAST)


def measure(
    trainer: DetectorTrainer, validation: Any, metrics: Metrics[DetectorRow], per_epoch: int
) -> DetectorRow:
    """Measure the averaged weights on the validation pictures, for the log and `metrics.csv`."""
    epoch, schedule = trainer.epoch, trainer.recipe
    step = epoch * per_epoch
    rate = schedule.rate_at(step - 1, per_epoch) if step else None
    row = DetectorRow(epoch, step, trainer.mean_loss, rate, *trainer.validate(validation))
    metrics.add([row])
    logger.info(
        "epoch %d of %d: P %.3f R %.3f mAP50 %.4f mAP50-95 %.4f", epoch, schedule.epochs,
        row.precision, row.recall, row.map50, row.map50_95,
    )  # fmt: skip
    return row


def export_average(checkpoint: Path, target: Path) -> None:
    """Write the moving average as a plain float32 state dict."""
    state = torch.load(checkpoint, map_location="cpu", weights_only=True)["ema"]
    tensors = {
        name: tensor.float() if tensor.is_floating_point() else tensor
        for name, tensor in state.items()
    }
    save_tensors({name: tensor.contiguous() for name, tensor in tensors.items()}, target)
    logger.info("wrote %d tensors to %s", len(tensors), target)
