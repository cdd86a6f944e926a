"""The reader in training: both networks, the loss, the optimizer and their checkpoint."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - the name everybody knows
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from orchestrator.networks.lprnet import ChannelStridePool, LPRNet
from orchestrator.networks.stn import STN
from orchestrator.plates import BLANK
from orchestrator.training.pools import to_input, to_targets
from orchestrator.training.synth import Batch

SMALLEST_NORMAL = 1.2e-38
"""Smaller float32 weights are subnormal: they change nothing and slow CPUs down many times."""

ROOM = 1.03
"""Size of what STN is taught to cut out, in sizes of the plate."""


@dataclass(frozen=True)
class Schedule:
    """Length and pace of the training.

    Attributes:
        steps: Batches in all.
        batch: Plates a step.
        real_share: Part of a batch that is cut from real plates, when there are any.
        rate: Peak of AdamW's learning rate; warm-up from 0, then a cosine to 1 % of it.
        warm_up: Steps to the peak.
        straight: Steps in which STN stays the identity, until LPRNet has something to tell it.
        corner_weight: Weight of the corners' loss beside the reading's.
        seed: Of samples, weights and dropout.
    """

    steps: int = 8000
    batch: int = 64
    real_share: float = 0.4
    rate: float = 1e-3
    warm_up: int = 300
    straight: int = 1200
    corner_weight: float = 2.0
    seed: int = 0

    def rate_at(self, step: int) -> float:
        if step < self.warm_up:
            return self.rate * (step + 1) / self.warm_up
        part = (step - self.warm_up) / max(1, self.steps - self.warm_up)
        return self.rate * (0.01 + 0.99 * (1 + math.cos(math.pi * min(1.0, part))) / 2)


class Reader(nn.Module):
    """STN and LPRNet in a row."""

    def __init__(self) -> None:
        super().__init__()
        self.stn, self.lprnet = STN(), LPRNet()
        for module in self.modules():
            if isinstance(module, ChannelStridePool):
                module.register_forward_pre_hook(_keep_gradient_layout)

    def forward(self, crops: Tensor, straight: bool = False) -> tuple[Tensor, Tensor]:
        """Read crops, (B, 3, 24, 94) -> logits (B, 23, 18) and theta (B, 2, 3)."""
        rectified, theta = self.stn(crops)
        layout = (crops if straight else rectified).contiguous(memory_format=torch.channels_last)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.training):
            logits: Tensor = self.lprnet(layout)
        return logits.float(), theta


def _keep_gradient_layout(_: nn.Module, inputs: tuple[Tensor]) -> tuple[Tensor] | None:
    """Return the gradient of a channel slice to channels-last: a third off the time of a step."""
    if not inputs[0].requires_grad:
        return None
    alias = inputs[0].view_as(inputs[0])
    alias.register_hook(lambda grad: grad.contiguous(memory_format=torch.channels_last))
    return (alias,)


def reading_loss(logits: Tensor, texts: Sequence[str]) -> Tensor:
    """Mean CTC loss a character of (B, 23, 18) logits."""
    targets, lengths = to_targets(texts)
    columns = torch.full((len(texts),), logits.shape[2])
    log_probs = logits.permute(2, 0, 1).log_softmax(2)
    return F.ctc_loss(log_probs, targets, columns, lengths, blank=BLANK, zero_infinity=True)


def corner_loss(theta: Tensor, corners: Tensor) -> Tensor:
    """Mean distance between where theta puts the corners of STN's output and the plate's.

    It makes STN zoom in on the plate, which gives LPRNet's 18 columns to the characters alone, and
    its theta tell where the plate is, with `ROOM` round it lest an error cut off a character.

    Args:
        theta: (B, 2, 3).
        corners: (B, 4, 2), -1 and 1 at the edges of the crop; plates with NaN do not count.
    """
    square = torch.tensor([[-1.0, -1, 1], [1, -1, 1], [1, 1, 1], [-1, 1, 1]])
    known = ~corners.isnan().flatten(1).any(1)
    if not known.any():
        return theta.new_zeros(())
    middle = corners[known].mean(dim=1, keepdim=True)
    wanted = middle + (corners[known] - middle) * ROOM
    return F.l1_loss(square @ theta[known].transpose(1, 2), wanted)


def vary(crops: Tensor) -> Tensor:
    """Change brightness, contrast and noise of each crop a little, so that no two draws agree."""
    shape = (len(crops), 1, 1, 1)
    gain, offset = 1 + 0.15 * torch.randn(shape), 0.1 * torch.randn(shape)
    noise = 0.03 * torch.rand(shape) * torch.randn_like(crops)
    return (crops * gain + offset + noise).clamp(-1, 1)


class Trainer:
    """Everything that a checkpoint brings back."""

    def __init__(self, schedule: Schedule) -> None:
        torch.manual_seed(schedule.seed)
        self.schedule = schedule
        self.step = 0
        self.reader = Reader()
        self.reader.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        weights = [p for p in self.reader.parameters() if p.ndim > 1]
        others = [p for p in self.reader.parameters() if p.ndim <= 1]
        self.optimizer = torch.optim.AdamW(
            [{"params": weights, "weight_decay": 1e-3}, {"params": others, "weight_decay": 0.0}]
        )
        # Weights are averaged; running statistics, which begin far off, are those of the moment.
        self.average = AveragedModel(self.reader, multi_avg_fn=get_ema_multi_avg_fn(0.998))

    def train_on(self, batch: Batch) -> float:
        """Take one step; returns the loss."""
        for group in self.optimizer.param_groups:
            group["lr"] = self.schedule.rate_at(self.step)
        self.reader.train()
        straight = self.step < self.schedule.straight
        logits, theta = self.reader(vary(to_input(batch.crops)), straight)
        loss = reading_loss(logits, batch.texts)
        loss = loss + self.schedule.corner_weight * corner_loss(
            theta, torch.from_numpy(batch.corners)
        )
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.reader.parameters(), 5.0)
        self.optimizer.step()
        self.average.update_parameters(self.reader)
        self.step += 1
        return loss.item()

    def save(self, folder: Path) -> None:
        """Write the checkpoint and the averaged weights as `stn.pth` and `lprnet.pth`."""
        folder.mkdir(parents=True, exist_ok=True)
        state = {
            "step": self.step,
            "reader": self.reader.state_dict(),
            "average": self.average.state_dict(),
            "optimizer": self.optimizer.state_dict(),
        }
        torch.save(state, folder / "partial.pt")
        (folder / "partial.pt").replace(folder / "checkpoint.pt")
        averaged = self.averaged
        torch.save(plain_weights(averaged.stn), folder / "stn.pth")
        torch.save(plain_weights(averaged.lprnet), folder / "lprnet.pth")

    @property
    def averaged(self) -> Reader:
        """The running average of the networks: what is measured and shipped."""
        averaged = self.average.module
        assert isinstance(averaged, Reader)
        return averaged

    def load(self, path: Path) -> None:
        state = torch.load(path, weights_only=True)
        self.step = state["step"]
        self.reader.load_state_dict(state["reader"])
        self.average.load_state_dict(state["average"])
        self.optimizer.load_state_dict(state["optimizer"])


def plain_weights(network: nn.Module) -> dict[str, Tensor]:
    """State dict in contiguous memory and without subnormal numbers."""
    state = {}
    for name, tensor in network.state_dict().items():
        plain = tensor.detach().clone(memory_format=torch.contiguous_format)
        if plain.is_floating_point():
            plain[plain.abs() < SMALLEST_NORMAL] = 0.0
        state[name] = plain
    return state
