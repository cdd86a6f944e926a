"""Train YOLOv5n to find number plates, on one CPU core or a GPU.

The network, its loss and its augmentation come from the `yolov5` package (Poetry group `train`);
the loop here adds what that package lacks on a CPU: bfloat16 with channels-last memory, a frozen
stem, anchors for wide plates and a resume that continues the very same run.

    python -m orchestrator.training.detector --data DATA --weights yolov5n.pt --out RUN
    python -m orchestrator.training.detector --data DATA --out RUN --resume
    python -m orchestrator.training.detector --out RUN --export weights/yolo.pt

`DATA` holds `images/train`, `images/val` and `labels/...` in YOLO format, class 0 = plate.
"""

from __future__ import annotations

import argparse
import logging
import math
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

logger = logging.getLogger(__name__)

# k-means (log width, log height) over the training plates at 640 px, scaled 0.5 to 1.5: COCO's
# anchors are square or tall, plates are three to four times as wide as high.
ANCHORS_WH = (
    (20, 6, 30, 9, 42, 12),
    (56, 16, 78, 24, 108, 30),
    (150, 44, 220, 60, 340, 95),
)
# Gains of yolov5's hyp.scratch-low; anchor_t is lower because every anchor here is plate-shaped.
LOSS = {"box": 0.05, "cls": 0.5, "cls_pw": 1.0, "obj": 1.0, "obj_pw": 1.0, "anchor_t": 3.0}
AUGMENT = {"hsv_h": 0.015, "hsv_s": 0.6, "hsv_v": 0.4, "degrees": 4.0, "translate": 0.1,
           "scale": 0.5, "shear": 2.0, "perspective": 0.0002, "flipud": 0.0, "fliplr": 0.5,
           "mosaic": 1.0, "mixup": 0.0, "copy_paste": 0.0}  # fmt: skip


@dataclass(frozen=True)
class Recipe:
    """One training run; lengths in epochs, `side_px` is the letterboxed picture's longer side."""

    epochs: int = 24
    plain_epochs: int = 0  # at the end, whole pictures instead of mosaics
    batch: int = 16
    side_px: int = 640
    rate: float = 0.01
    final_rate: float = 0.05  # of `rate`, reached by a cosine
    warmup_epochs: float = 1.0
    momentum: float = 0.937
    decay: float = 5e-4
    frozen_layers: int = 3  # half of the backward pass for edges that COCO has taught already
    validate_every: int = 3
    seed: int = 7
    threads: int = 1


def build(weights: Path | None, side_px: int) -> Any:
    """The `yolov5` package's YOLOv5n for one class, started from `weights` where shapes agree."""
    import yolov5
    from yolov5.models.yolo import Model

    model = Model(Path(yolov5.__file__).parent / "models" / "yolov5n.yaml", ch=3, nc=1)
    if weights is not None:
        start(model, weights)
    head = model.model[-1]
    head.anchors.copy_(torch.tensor(ANCHORS_WH).view(3, 3, 2) / head.stride.view(3, 1, 1))
    model.hyp = {**LOSS, "fl_gamma": 0.0, "label_smoothing": 0.0}
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


def loaders(folders: Sequence[Path], validation: Path, recipe: Recipe) -> tuple[Any, Any]:
    """Endless-worker loaders of augmented training batches and of plain validation batches."""
    from yolov5.utils.dataloaders import create_dataloader

    train, _ = create_dataloader(
        [str(folder) for folder in folders], recipe.side_px, recipe.batch, 32, single_cls=True,
        hyp=AUGMENT, augment=True, cache="ram", workers=0, shuffle=True, seed=recipe.seed,
    )  # fmt: skip
    plain, _ = create_dataloader(
        str(validation), recipe.side_px, recipe.batch, 32, single_cls=True, hyp=AUGMENT,
        rect=True, pad=0.5, cache="ram", workers=0,
    )  # fmt: skip
    return train, plain


def rate_at(step: int, steps: int, warmup: int, recipe: Recipe) -> float:
    """Learning rate: linear warm-up, then a cosine down to `final_rate` of the peak."""
    if step < warmup:
        return recipe.rate * (step + 1) / warmup
    done = (step - warmup) / max(1, steps - warmup)
    low = recipe.final_rate
    return recipe.rate * (low + (1 - low) * (1 + math.cos(math.pi * done)) / 2)


class Trainer:
    """Network, its moving average, optimiser and the place in the run: all that a resume needs."""

    def __init__(self, model: Any, recipe: Recipe, out: Path) -> None:
        from yolov5.utils.loss import ComputeLoss
        from yolov5.utils.torch_utils import ModelEMA, smart_optimizer

        self.model, self.recipe, self.out = model, recipe, out
        self.device = next(model.parameters()).device
        self.optimizer = smart_optimizer(model, "SGD", recipe.rate, recipe.momentum, recipe.decay)
        self.average = ModelEMA(model, tau=600)
        self.loss = ComputeLoss(model)
        self.epoch = 0
        self.best = 0.0

    def step(self, pictures: Tensor, targets: Tensor, rate: float) -> Tensor:
        """One update from uint8 (B, 3, H, W) RGB and (N, 6) picture, class, xywh in [0, 1]."""
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        batch = pictures.to(self.device).float().div_(255)
        batch = batch.contiguous(memory_format=torch.channels_last)
        with torch.autocast(self.device.type, dtype=torch.bfloat16):
            grids = self.model(batch)
        loss: Tensor
        parts: Tensor
        loss, parts = self.loss([grid.float() for grid in grids], targets.to(self.device))
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 10.0)
        self.optimizer.step()
        self.average.update(self.model)
        return parts

    def run_epoch(self, batches: Any) -> Tensor:
        """One pass over the training pictures; mean box, objectness and class loss."""
        self.model.train()
        freeze(self.model, self.recipe.frozen_layers)
        per_epoch = len(batches)
        steps, warmup = self.recipe.epochs * per_epoch, int(self.recipe.warmup_epochs * per_epoch)
        batches.dataset.mosaic = self.epoch < self.recipe.epochs - self.recipe.plain_epochs
        total = torch.zeros(3)
        for index, (pictures, targets, _, _) in enumerate(batches):
            rate = rate_at(self.epoch * per_epoch + index, steps, warmup, self.recipe)
            total += self.step(pictures, targets, rate).cpu()
        self.epoch += 1
        return total / per_epoch

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
        torch.save(state, self.out / "part.pt")
        (self.out / "part.pt").replace(self.out / name)

    def resume(self) -> None:
        """Go on from `out/last.pt`."""
        state = torch.load(self.out / "last.pt", map_location=self.device, weights_only=True)
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
    """Run the remaining epochs; `last.pt` after each, `best.pt` by mAP50 + mAP50-95."""
    recipe = trainer.recipe
    while trainer.epoch < recipe.epochs:
        seed_everything(recipe.seed + trainer.epoch)
        began = time.monotonic()
        box, obj, _ = trainer.run_epoch(train).tolist()
        seconds = time.monotonic() - began
        logger.info("epoch %d box %.4f obj %.4f %.0f s", trainer.epoch, box, obj, seconds)
        trainer.save("last.pt")
        if trainer.epoch % recipe.validate_every == 0 or trainer.epoch == recipe.epochs:
            figures = trainer.validate(validation)
            logger.info("  P %.3f R %.3f mAP50 %.4f mAP50-95 %.4f", *figures)
            if sum(figures[2:]) > trainer.best:
                trainer.best = sum(figures[2:])
                trainer.save("best.pt")


def export(checkpoint: Path, target: Path) -> None:
    """Write the moving average as a plain float32 state dict."""
    state = torch.load(checkpoint, map_location="cpu", weights_only=True)["ema"]
    tensors = {k: v.float() if v.is_floating_point() else v for k, v in state.items()}
    torch.save({k: v.contiguous() for k, v in tensors.items()}, target)
    logger.info("wrote %d tensors to %s", len(tensors), target)


def parser() -> argparse.ArgumentParser:
    """Arguments of the command; every field of `Recipe` is a flag."""
    result = argparse.ArgumentParser(description="Train the plate detector.")
    result.add_argument("--data", type=Path, help="folder with images/ and labels/")
    result.add_argument("--extra", type=Path, nargs="*", default=[], help="more image folders")
    result.add_argument("--weights", type=Path, help="checkpoint or state dict to start from")
    result.add_argument("--out", type=Path, required=True, help="folder of checkpoints")
    result.add_argument("--resume", action="store_true", help="go on from OUT/last.pt")
    result.add_argument("--export", type=Path, help="write OUT/best.pt as plain weights, then stop")
    for name, default in vars(Recipe()).items():
        flag = "--" + name.replace("_", "-")
        result.add_argument(flag, type=type(default), default=default)
    return result


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, or export what was trained."""
    given = parser().parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    if given.export:
        export(given.out / "best.pt", given.export)
        return
    recipe = replace(Recipe(), **{name: getattr(given, name) for name in vars(Recipe())})
    torch.set_num_threads(recipe.threads)
    seed_everything(recipe.seed)
    given.out.mkdir(parents=True, exist_ok=True)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    trainer = Trainer(build(given.weights, recipe.side_px).to(device), recipe, given.out)
    if given.resume:
        trainer.resume()
    images = given.data / "images"
    fit(trainer, *loaders([images / "train", *given.extra], images / "val", recipe))


if __name__ == "__main__":
    main()
