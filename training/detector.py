"""Train YOLOv5n to find number plates, on one CPU core or a GPU.

The network, its loss and its augmentation come from the `yolov5` package (Poetry group `train`);
the loop here adds what that package lacks on a CPU: bfloat16 with channels-last memory, a frozen
stem, anchors for wide plates and a resume that continues the very same run.

`plates train detector` is the command; see docs/training.md.
"""

from __future__ import annotations

import logging
import os
import random
import warnings
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader

from evaluation.yolo_labels import label_folder
from orchestrator.contract import DETECTOR
from orchestrator.errors import SettingsError
from orchestrator.formats import RUSSIA
from orchestrator.networks.registry import NETWORKS
from training.recipes import (
    Augmentation,
    DetectorData,
    DetectorRecipe,
    DetectorSchedule,
    Loss,
    cosine,
)
from training.runs import Progress, complete, open_run, save

logger = logging.getLogger(__name__)

LAST, BEST = "last.pt", "best.pt"
CPU = torch.device("cpu")

# k-means (log width, log height) over the training plates at 640 px, scaled 0.5 to 1.5: COCO's
# anchors are square or tall, plates are three to four times as wide as high.
ANCHORS_WH = (
    (20, 6, 30, 9, 42, 12),
    (56, 16, 78, 24, 108, 30),
    (150, 44, 220, 60, 340, 95),
)


def run(recipe: DetectorRecipe, out: Path, *, device: torch.device = CPU, resume: bool) -> None:
    """Train the detector of a recipe to the end, in the folder `out`.

    Raises:
        SettingsError: The recipe, its data, the folder or the `yolov5` package cannot be used.
    """
    check_package()
    folders, validation = picture_folders(recipe.data)
    seed_everything(recipe.training.seed)
    model = build(None if resume else recipe.start, recipe.training.side_px, recipe.loss)
    trainer = Trainer(model.to(device), recipe.training, out)
    open_run(out, recipe, LAST, RUSSIA, resume=resume)
    if resume:
        trainer.resume()
        logger.info("going on from the end of epoch %d of %s", trainer.epoch, out)
    else:
        trainer.save(LAST)
    fit(trainer, *loaders(folders, validation, recipe.training, recipe.augmentation))


def check_package() -> None:
    """See that the `yolov5` package can be imported, and keep it from saying much.

    Raises:
        SettingsError: It cannot; it is not part of the serving environment.
    """
    os.environ.setdefault("PIN_MEMORY", str(torch.cuda.is_available()))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it is older than what it imports
            import yolov5.val  # noqa: F401
    except ImportError as error:
        raise SettingsError(
            f"wanted the yolov5 package, got: {error}; make train-env, then .venv-train/bin/plates"
        ) from error
    logging.getLogger("yolov5").setLevel(logging.WARNING)


def picture_folders(data: DetectorData) -> tuple[list[Path], Path]:
    """Return the folders of training pictures and the one of validation pictures.

    Raises:
        SettingsError: One is not there or empty, or there is none of labels beside it.
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
    """The `yolov5` package's YOLOv5n for one class, started from `weights` where shapes agree."""
    import yolov5
    from yolov5.models.yolo import Model

    model = Model(Path(yolov5.__file__).parent / "models" / "yolov5n.yaml", ch=3, nc=1)
    if weights is not None:
        start(model, weights)
    head = model.model[-1]
    head.anchors.copy_(torch.tensor(ANCHORS_WH).view(3, 3, 2) / head.stride.view(3, 1, 1))
    model.hyp = {**asdict(loss or Loss()), "fl_gamma": 0.0, "label_smoothing": 0.0}
    model.hyp["obj"] *= (side_px / 640) ** 2
    model.names = {0: "plate"}
    return model.to(memory_format=torch.channels_last)


def start(model: nn.Module, weights: Path) -> None:
    """Copy the tensors of equal name and shape from a checkpoint or a state dict."""
    # Published YOLOv5 checkpoints are pickled modules, so this runs code: trusted files only.
    checkpoint = torch.load(weights, map_location="cpu", weights_only=False)
    source = checkpoint.get("ema") or checkpoint.get("model") or checkpoint
    tensors = source if isinstance(source, dict) else source.float().state_dict()
    own = model.state_dict()
    same = {k: v for k, v in tensors.items() if k in own and v.shape == own[k].shape}
    model.load_state_dict(same, strict=False)
    logger.info("took %d of %d tensors from %s", len(same), len(own), weights.name)


def freeze(model: Any, layers: int) -> None:
    """Keep the first `layers` modules as they are, their batch statistics too."""
    for layer in model.model[:layers]:
        layer.eval().requires_grad_(False)


def loaders(
    folders: Sequence[Path],
    validation: Path,
    recipe: DetectorSchedule,
    augmentation: Augmentation,
) -> tuple[Any, Any]:
    """Endless-worker loaders of augmented training batches and of plain validation batches."""
    changes = asdict(augmentation)
    from yolov5.utils.dataloaders import create_dataloader

    train, _ = create_dataloader(
        [str(folder) for folder in folders], recipe.side_px, recipe.batch, 32, single_cls=True,
        hyp=changes, augment=True, cache="ram", workers=0, shuffle=True, seed=recipe.seed,
    )  # fmt: skip
    plain, _ = create_dataloader(
        str(validation), recipe.side_px, recipe.batch, 32, single_cls=True, hyp=changes,
        rect=True, pad=0.5, cache="ram", workers=0,
    )  # fmt: skip
    return train, plain


class Trainer:
    """Network, its moving average, optimiser and the place in the run: all that a resume needs."""

    def __init__(self, model: Any, recipe: DetectorSchedule, out: Path) -> None:
        from yolov5.utils.loss import ComputeLoss
        from yolov5.utils.torch_utils import ModelEMA, smart_optimizer

        self.model, self.recipe, self.out = model, recipe, out
        self.device = next(model.parameters()).device
        self.optimizer = smart_optimizer(model, "SGD", recipe.rate, recipe.momentum, recipe.decay)
        self.average = ModelEMA(model, tau=600)
        self.loss = ComputeLoss(model)
        self.epoch = 0
        self.best = 0.0

    def step(self, pictures: Tensor, targets: Tensor, rate: float) -> float:
        """One update from uint8 (B, 3, H, W) RGB and (N, 6) picture, class, xywh in [0, 1].

        Returns:
            The loss: box, objectness and class.

        Raises:
            SettingsError: The loss is no number any more.
        """
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        batch = pictures.to(self.device).float().div_(255)
        batch = batch.contiguous(memory_format=torch.channels_last)
        with torch.autocast(self.device.type, dtype=torch.bfloat16):
            grids = self.model(batch)
        loss: Tensor
        parts: Tensor
        loss, parts = self.loss([grid.float() for grid in grids], targets.to(self.device))
        if not loss.isfinite():
            raise SettingsError(f"epoch {self.epoch + 1}: wanted a finite loss, got {loss.item()}; "
                                "try a lower rate")  # fmt: skip
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 10.0)
        self.optimizer.step()
        self.average.update(self.model)
        return float(parts.sum())

    def run_epoch(self, batches: Any, progress: Progress) -> None:
        """One pass over the training pictures."""
        self.model.train()
        freeze(self.model, self.recipe.frozen_layers)
        per_epoch = len(batches)
        steps, warmup = self.recipe.epochs * per_epoch, int(self.recipe.warmup_epochs * per_epoch)
        batches.dataset.mosaic = self.epoch < self.recipe.epochs - self.recipe.plain_epochs
        for step, (pictures, targets, _, _) in enumerate(batches, self.epoch * per_epoch):
            rate = cosine(step, steps, warmup, self.recipe.rate, self.recipe.final_rate)
            progress.tell(step + 1, self.step(pictures, targets, rate))
        self.epoch += 1

    def validate(self, batches: Any) -> tuple[float, float, float, float]:
        """Precision, recall (both at the best F1), mAP50 and mAP50-95 of the moving average."""
        from yolov5 import val

        figures, *_ = val.run(
            {"nc": 1, "val": "", "names": ["plate"]}, model=self.average.ema, dataloader=batches,
            imgsz=self.recipe.side_px, half=False, single_cls=True, plots=False,
        )  # fmt: skip
        precision, recall, ap50, ap = map(float, figures[:4])
        return precision, recall, ap50, ap

    def save(self, name: str) -> None:
        """Write `out/name`: tensors and plain numbers only."""
        state = {
            "epoch": self.epoch, "best": self.best, "updates": self.average.updates,
            "model": self.model.state_dict(), "ema": self.average.ema.state_dict(),
            "optimizer": self.optimizer.state_dict(),
        }  # fmt: skip
        save(state, self.out / name)

    def resume(self) -> None:
        """Go on from `out/last.pt`, whichever device it comes from."""
        state = torch.load(self.out / LAST, map_location=self.device, weights_only=True)
        self.epoch, self.best = state["epoch"], state["best"]
        self.average.updates = state["updates"]
        self.model.load_state_dict(state["model"])
        self.average.ema.load_state_dict(state["ema"])
        self.optimizer.load_state_dict(state["optimizer"])


def seed_everything(seed: int) -> None:
    """Seed every generator that augmentation and initialisation draw from."""
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002  (yolov5 draws from the global generator)
    torch.manual_seed(seed)


def fit(trainer: Trainer, train: Any, validation: Any) -> None:
    """Run the remaining epochs; `last.pt` after each, `best.pt` by mAP50 + mAP50-95.

    Every epoch seeds order and augmentation anew, so that a resumed run is the very same.
    """
    recipe, per_epoch = trainer.recipe, len(train)
    progress = Progress(recipe.epochs * per_epoch, trainer.epoch * per_epoch)
    while trainer.epoch < recipe.epochs:
        seed_everything(recipe.seed + trainer.epoch)
        train.generator.manual_seed(recipe.seed + trainer.epoch)
        train.iterator = DataLoader.__iter__(train)  # the old one would draw once more at its end
        trainer.run_epoch(train, progress)
        if trainer.epoch % recipe.validate_every == 0 or trainer.epoch == recipe.epochs:
            figures = trainer.validate(validation)
            epoch = f"epoch {trainer.epoch} of {recipe.epochs}"
            logger.info("%s: P %.3f R %.3f mAP50 %.4f mAP50-95 %.4f", epoch, *figures)
            if sum(figures[2:]) >= trainer.best:
                trainer.best = sum(figures[2:])
                trainer.save(BEST)
                export(trainer.out / BEST, trainer.out / NETWORKS[DETECTOR].weights)
                complete(trainer.out)
        trainer.save(LAST)


def export(checkpoint: Path, target: Path) -> None:
    """Write the moving average as a plain float32 state dict."""
    state = torch.load(checkpoint, map_location="cpu", weights_only=True)["ema"]
    tensors = {k: v.float() if v.is_floating_point() else v for k, v in state.items()}
    save({k: v.contiguous() for k, v in tensors.items()}, target)
    logger.info("wrote %d tensors to %s", len(tensors), target)
