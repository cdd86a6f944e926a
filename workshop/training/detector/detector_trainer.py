"""Trainer of the detector: the network, its moving average, the optimizer and the checkpoint."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from orchestrator.errors import SettingsError
from workshop.training.detector.detector_recipe import DetectorSchedule
from workshop.training.optimization import autocast
from workshop.training.runs import Progress, save_tensors

LAST, BEST = "last.pt", "best.pt"


class DetectorTrainer:
    """Trains the detector; holds the network, its average, the optimizer and the progress.

    A checkpoint saves all of them for a resume.

    Attributes:
        best: Sum of mAP50 and mAP50-95 of the best epoch.
        mean_loss: Mean loss of the last epoch; None before the first.
        spent_s: Time of the run until the end of the last epoch, in seconds.
    """

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
        self.mean_loss: float | None = None
        self.spent_s = 0.0

    def step(self, pictures: Tensor, targets: Tensor, rate: float) -> float:
        """Make one update from uint8 (B, 3, H, W) RGB and (N, 6) picture, class, xywh in [0, 1].

        Returns:
            Sum of the box, objectness and class losses.

        Raises:
            SettingsError: The loss is not finite.
        """
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        batch = pictures.to(self.device).float().div_(255)
        batch = batch.contiguous(memory_format=torch.channels_last)
        with autocast(self.device):
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
        """Make one pass over the training pictures."""
        self.model.train()
        freeze(self.model, self.recipe.frozen_layers)
        per_epoch = len(batches)
        losses = []
        for step, (pictures, targets, _, _) in enumerate(batches, self.epoch * per_epoch):
            rate = self.recipe.rate_at(step, per_epoch)
            losses.append(self.step(pictures, targets, rate))
            progress.log(step + 1, losses[-1])
        self.mean_loss = sum(losses) / max(1, len(losses))
        self.epoch += 1

    def validate(self, batches: Any) -> tuple[float, float, float, float]:
        """Return precision, recall (at the best F1), mAP50 and mAP50-95 of the moving average."""
        from yolov5 import val

        figures, *_ = val.run(
            {"nc": 1, "val": "", "names": ["plate"]}, model=self.average.ema, dataloader=batches,
            imgsz=self.recipe.side_px, half=False, single_cls=True, plots=False,
        )  # fmt: skip
        precision, recall, ap50, ap = map(float, figures[:4])
        return precision, recall, ap50, ap

    def save(self, name: str) -> None:
        """Write the checkpoint `out/name`, with tensors and plain numbers only."""
        state = {
            "epoch": self.epoch, "best": self.best, "loss": self.mean_loss,
            "updates": self.average.updates,
            "spent_s": self.spent_s, "epochs": self.recipe.epochs,
            "model": self.model.state_dict(), "ema": self.average.ema.state_dict(),
            "optimizer": self.optimizer.state_dict(),
        }  # fmt: skip
        save_tensors(state, self.out / name)

    def resume(self) -> None:
        """Load `out/last.pt`, from any device."""
        state = torch.load(self.out / LAST, map_location=self.device, weights_only=True)
        self.epoch, self.best, self.mean_loss = state["epoch"], state["best"], state.get("loss")
        self.spent_s = state.get("spent_s", 0.0)
        if self.recipe.minutes is not None:
            self.recipe = replace(self.recipe, epochs=state["epochs"])
        self.average.updates = state["updates"]
        self.model.load_state_dict(state["model"])
        self.average.ema.load_state_dict(state["ema"])
        self.optimizer.load_state_dict(state["optimizer"])


def freeze(model: Any, layers: int) -> None:
    """Freeze the first `layers` modules and their batch statistics."""
    for layer in model.model[:layers]:
        layer.eval().requires_grad_(False)


def seed_everything(seed: int) -> None:
    """Seed every generator that augmentation and initialisation use."""
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002  (yolov5 draws from the global generator)
    torch.manual_seed(seed)
