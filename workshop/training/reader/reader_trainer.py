"""Trainer of the reader: both networks, the loss, the optimizer and the checkpoint."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - the name everybody knows

from orchestrator.contract import READER, RECTIFIER
from orchestrator.errors import SettingsError
from orchestrator.formats.plate_formats import Formats
from orchestrator.networks.lprnet import ChannelStridePool, LPRNet
from orchestrator.networks.registry import NETWORKS
from orchestrator.networks.state_dicts import with_alphabet, without_subnormals
from orchestrator.networks.stn import STN
from workshop.training.optimization import autocast, average_weights
from workshop.training.reader.corners import corner_loss
from workshop.training.reader.initial_weights import take_weights
from workshop.training.reader.reader_recipe import ReaderSchedule
from workshop.training.reader.sample_pools import Draw, move, to_input, to_targets, vary
from workshop.training.runs import save_tensors

CPU = torch.device("cpu")
CHECKPOINT = "checkpoint.pt"
MAX_DECAY = 0.998
"""Greatest decay of the average; from step 4,500 on, the average covers 500 steps."""


class Reader(nn.Module):
    """STN followed by LPRNet.

    Attributes:
        quick: True if it runs in bfloat16 where that is quick, also when it does not train.
    """

    quick = False

    def __init__(self, classes: int, dropout: float = 0.5, width: int = 1) -> None:
        super().__init__()
        self.stn, self.lprnet = STN(width), LPRNet(classes, dropout, width)
        for module in self.modules():
            if isinstance(module, ChannelStridePool):
                module.register_forward_pre_hook(_keep_gradient_layout)

    def forward(self, crops: Tensor) -> tuple[Tensor, Tensor]:
        """Read crops, (B, 3, 24, 94) -> logits (B, 23, 18) and theta (B, 2, 3)."""
        rectified, theta = self.stn(crops)
        layout = rectified.contiguous(memory_format=torch.channels_last)
        with autocast(crops.device, enabled=self.training or self.quick):
            logits: Tensor = self.lprnet(layout)
        return logits.float(), theta


def _keep_gradient_layout(_: nn.Module, inputs: tuple[Tensor]) -> tuple[Tensor] | None:
    """Convert a channel slice's gradient to channels-last; this saves a third of a step's time."""
    if not inputs[0].requires_grad:
        return None
    alias = inputs[0].view_as(inputs[0])
    alias.register_hook(lambda grad: grad.contiguous(memory_format=torch.channels_last))
    return (alias,)


def reading_loss(logits: Tensor, texts: Sequence[str], alphabet: str) -> Tensor:
    """Return the mean CTC loss per character of (B, classes, 18) logits."""
    targets, lengths = to_targets(texts, alphabet)
    columns = torch.full((len(texts),), logits.shape[2])
    log_probs = logits.permute(2, 0, 1).log_softmax(2)
    targets = targets.to(logits.device)
    blank = len(alphabet)
    return F.ctc_loss(log_probs, targets, columns, lengths, blank=blank, zero_infinity=True)


@torch.no_grad()
def settle(network: nn.Module, crops: Tensor, batch: int = 64) -> None:
    """Compute the statistics of batch normalisation again, on samples like those of training.

    Averaged weights need statistics of their own. The statistics of a training belong to the
    weights of its last steps. With them, 96 % of real plates read sometimes fell to 84 %. Source:
    Izmailov et al. 2018, "Averaging Weights Leads to Wider Optima and Better Generalization".

    Args:
        network: Network that gets the statistics; it is in evaluation mode afterwards.
        crops: (N, 3, 24, 94), in random order.
        batch: Number of crops in a batch.
    """
    network.eval()  # no dropout
    norms = [module for module in network.modules() if isinstance(module, nn.BatchNorm2d)]
    usual = [norm.momentum for norm in norms]
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None  # the mean over all batches
        norm.train()
    for part in crops.split(batch):
        network(part)
    for norm, momentum in zip(norms, usual, strict=True):
        norm.momentum = momentum
    network.eval()


class ReaderTrainer:
    """Trains the reader; holds everything that a checkpoint saves and restores.

    Attributes:
        losses: Losses of the steps since the last checkpoint.
        loss: Mean loss of the steps between the last two checkpoints; None before the first.
        spent_s: Time of the run so far, in seconds; whoever has the clock sets it before each step.
        start: Weights that the run began with; a mean with them may be shipped.
    """

    def __init__(
        self, schedule: ReaderSchedule, formats: Formats, device: torch.device = CPU
    ) -> None:
        torch.manual_seed(schedule.seed)
        self.schedule, self.formats, self.device = schedule, formats, device
        self.step = 0
        self.reader = Reader(formats.classes, schedule.dropout, schedule.width)
        self.reader.to(device)
        self.reader.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.optimizer = optimize(self.reader, schedule.stn_rate)
        # Only weights are averaged; batch statistics are the current ones until `settle`.
        # The first step copies the weights to the average.
        self.average = average_weights(self.reader, MAX_DECAY)
        self.losses: list[float] = []
        self.loss: float | None = None
        self.spent_s = 0.0
        self.start: dict[str, Tensor] = {}

    def begin_with(self, folder: Path) -> None:
        """Take the weights of a folder as the start.

        Raises:
            WeightsError: They cannot be used.
        """
        take_weights(self.reader.stn, self.reader.lprnet, folder, self.formats.alphabet)
        self.start = {name: value.clone() for name, value in self.reader.state_dict().items()}

    @property
    def share_done(self) -> float:
        """Share of the run that is done; the run ends at 1."""
        return self.schedule.done_at(self.step, self.spent_s)

    @property
    def left_s(self) -> float | None:
        """Seconds that are left of a run that ends by the clock; None if it ends by its steps."""
        minutes = self.schedule.minutes
        return None if minutes is None else 60 * minutes - self.spent_s

    def train_on(self, draw: Draw) -> float:
        """Make one step; returns the loss.

        Every step seeds dropout and noise anew, so that a resumed run is exactly the same.

        Raises:
            SettingsError: The loss is not finite.
        """
        torch.manual_seed(self.schedule.seed * 1_000_003 + self.step)
        crops, corners = to_input(draw.crops.to(self.device)), draw.corners.to(self.device)
        if self.schedule.moved and torch.rand(()) < self.schedule.moved:
            crops, corners = move(crops, corners)
        loss = self.loss_of(vary(crops), draw.texts, corners)
        self.update(
            self.reader, self.optimizer, loss, self.schedule.rate_at(self.step, self.spent_s)
        )
        self.average.update_parameters(self.reader)
        self.step += 1
        self.losses.append(loss.item())
        return self.losses[-1]

    def loss_of(self, crops: Tensor, texts: Sequence[str], corners: Tensor) -> Tensor:
        """Return the reader's loss on crops, (B, 3, 24, 94), with texts and corners, (B, 4, 2)."""
        self.reader.train()
        logits, theta = self.reader(crops)
        return self.reading_loss(logits, texts) + self.corner_loss(theta, corners)

    def reading_loss(self, logits: Tensor, texts: Sequence[str]) -> Tensor:
        return reading_loss(logits, texts, self.formats.alphabet)

    def corner_loss(self, theta: Tensor, corners: Tensor) -> Tensor:
        return self.schedule.corner_weight * corner_loss(theta, corners)

    def update(
        self, network: nn.Module, optimizer: torch.optim.Optimizer, loss: Tensor, rate: float
    ) -> None:
        """Make one step of an optimizer."""
        if not loss.isfinite():
            raise SettingsError(f"step {self.step}: wanted a finite loss, got {loss.item()}; "
                                "try a lower rate")  # fmt: skip
        for group in optimizer.param_groups:
            group["lr"] = group["part"] * rate
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 5.0)
        optimizer.step()

    def save(self, folder: Path) -> None:
        """Write the checkpoint and the averaged weights as `stn.pth` and `lprnet.pth`."""
        folder.mkdir(parents=True, exist_ok=True)
        if self.losses:
            self.loss = sum(self.losses) / len(self.losses)
            self.losses.clear()
        save_tensors(self.state(), folder / CHECKPOINT)
        save_reader(self.averaged, self.formats.alphabet, folder)

    @property
    def averaged(self) -> Reader:
        """The running average of the networks, which is measured and shipped."""
        averaged = self.average.module
        assert isinstance(averaged, Reader)
        return averaged

    def state(self) -> dict[str, Any]:
        """Return the content of a checkpoint."""
        return {
            "step": self.step,
            "spent_s": self.spent_s,
            "loss": self.loss,
            "start": self.start,
            "reader": self.reader.state_dict(),
            "average": self.average.state_dict(),
            "optimizer": self.optimizer.state_dict(),
        }

    def load(self, path: Path) -> None:
        """Load a checkpoint from any device."""
        self.restore(torch.load(path, map_location=self.device, weights_only=True))

    def restore(self, state: dict[str, Any]) -> None:
        """Take the content of a checkpoint."""
        self.step, self.loss = state["step"], state.get("loss")
        self.spent_s, self.start = state.get("spent_s", 0.0), state.get("start", {})
        self.reader.load_state_dict(state["reader"])
        self.average.load_state_dict(state["average"])
        self.optimizer.load_state_dict(state["optimizer"])


def optimize(reader: Reader, stn_rate: float) -> torch.optim.AdamW:
    """Return the optimizer of a reader; STN has a part of the rate, and only matrices decay."""
    lprnet = list(reader.lprnet.parameters())
    stn = {"params": list(reader.stn.parameters()), "weight_decay": 0.0, "part": stn_rate}
    matrices = [weight for weight in lprnet if weight.ndim > 1]
    others = [weight for weight in lprnet if weight.ndim <= 1]
    return torch.optim.AdamW(
        [
            {"params": matrices, "weight_decay": 1e-3, "part": 1.0},
            {"params": others, "weight_decay": 0.0, "part": 1.0},
            stn,
        ]
    )


def save_reader(reader: Reader, alphabet: str, folder: Path) -> None:
    """Write `stn.pth`, and `lprnet.pth` with the alphabet of its classes."""
    save_tensors(plain_weights(reader.stn), folder / NETWORKS[RECTIFIER].weights)
    state = with_alphabet(plain_weights(reader.lprnet), alphabet)
    save_tensors(state, folder / NETWORKS[READER].weights)


def plain_weights(network: nn.Module) -> dict[str, Tensor]:
    """Return a state dict on the CPU, in contiguous memory and without subnormal numbers."""
    return {
        name: without_subnormals(tensor.detach().cpu()).clone(memory_format=torch.contiguous_format)
        for name, tensor in network.state_dict().items()
    }
