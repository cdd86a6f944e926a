"""Training of the reader with a teacher: both learn together, then the teacher stands still.

The teacher is a wider reader with more layers, which begins as the same function: the last weights
of all layers that it adds are zero. So it need not learn to read again, and a run of minutes is
enough to make it better than the reader that it teaches.

Source: Hinton et al. 2015, "Distilling the Knowledge in a Neural Network"; Chen et al. 2016,
"Net2Net"; Goyal et al. 2017, "Accurate, Large Minibatch SGD" (residual blocks that begin as zero).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - the name everybody knows

from orchestrator.formats.plate_formats import Formats
from workshop.training.optimization import average_weights
from workshop.training.reader.initial_weights import take_weights
from workshop.training.reader.reader_recipe import ReaderSchedule, TeacherPlan
from workshop.training.reader.reader_trainer import (
    CPU,
    MAX_DECAY,
    Reader,
    ReaderTrainer,
    optimize,
    settle,
)
from workshop.training.schedules import anneal

CHANNELS = {6: 128, 10: 256, 13: 256}
"""Channels of LPRNet's features after the layers that a residual block follows."""
COLUMNS, FEATURES = 18, 256
"""Layer of LPRNet after which columns see each other, and the channels of its features."""
HEADS, COLUMNS_PER_CHARACTER = 4, 2


class ResidualBlock(nn.Module):
    """Bottleneck of convolutions that is added to features without negative values."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        inner = channels // 2
        last = nn.BatchNorm2d(channels)
        self.block = nn.Sequential(
            nn.Conv2d(channels, inner, 1, bias=False),
            nn.BatchNorm2d(inner),
            nn.ReLU(),
            nn.Conv2d(inner, inner, 3, padding=1, bias=False),
            nn.BatchNorm2d(inner),
            nn.ReLU(),
            nn.Conv2d(inner, channels, 1, bias=False),
            last,
        )
        nn.init.zeros_(last.weight)

    def forward(self, features: Tensor) -> Tensor:
        return F.relu(features + self.block(features))


class ColumnAttention(nn.Module):
    """Attention between the columns of a plate, added to features without negative values."""

    def __init__(self, channels: int, columns: int = 18) -> None:
        super().__init__()
        self.place = nn.Parameter(0.02 * torch.randn(columns, channels))
        self.norm = nn.LayerNorm(channels)
        self.attention = nn.MultiheadAttention(channels, HEADS, batch_first=True)
        self.out = nn.Linear(channels, channels)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def forward(self, features: Tensor) -> Tensor:
        """Add what the other columns say to each column: (B, channels, rows, columns)."""
        columns = self.norm(features.mean(dim=2).transpose(1, 2) + self.place)
        context, _ = self.attention(columns, columns, columns, need_weights=False)
        addition: Tensor = self.out(context).transpose(1, 2).unsqueeze(2)
        return F.relu(features + addition)


class Teacher(Reader):
    """The reader, wider, with residual blocks and attention between the columns."""

    def __init__(self, classes: int, dropout: float, width: int) -> None:
        super().__init__(classes, dropout, width)
        layers = self.lprnet.backbone
        for index, channels in CHANNELS.items():
            layers[index] = nn.Sequential(layers[index], ResidualBlock(channels))
        layers[COLUMNS] = nn.Sequential(layers[COLUMNS], ColumnAttention(FEATURES))


def column_distance(logits: Tensor, teacher_logits: Tensor) -> Tensor:
    """Return the divergence of the columns' classes from the teacher's, per character.

    Args:
        logits: (B, classes, columns) of the reader.
        teacher_logits: The same of the teacher.
    """
    target = teacher_logits.log_softmax(1)
    divergence = (target.exp() * (target - logits.log_softmax(1))).sum(dim=1)
    return COLUMNS_PER_CHARACTER * divergence.mean()


log = logging.getLogger(__name__)

Judge = Callable[[nn.Module], float]


class DistillingTrainer(ReaderTrainer):
    """Trains the reader and its teacher; the teacher is in the checkpoint, not in the weights.

    Attributes:
        typical: Crops from which the teacher's batch normalisation takes its final statistics.
        judge: Function that measures a reader. A teacher that is worse than the reader when it has
            learned teaches no longer.
        is_taught: True if the teacher has learned, and does not change any more.
        teaches: False if the teacher turned out worse than the reader.
    """

    def __init__(
        self,
        schedule: ReaderSchedule,
        formats: Formats,
        plan: TeacherPlan,
        device: torch.device = CPU,
    ) -> None:
        super().__init__(schedule, formats, device)
        self.plan = plan
        self.teacher = Teacher(formats.classes, schedule.dropout, plan.width).to(device)
        self.teacher.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.teacher_optimizer = optimize(self.teacher, schedule.stn_rate)
        self.teacher_average = average_weights(self.teacher, MAX_DECAY)
        self.typical: Tensor | None = None
        self.judge: Judge | None = None
        self.is_taught, self.teaches = False, True

    def begin_with(self, folder: Path) -> None:
        super().begin_with(folder)
        plain = Reader(self.formats.classes, width=self.plan.width)
        take_weights(plain.stn, plain.lprnet, folder, self.formats.alphabet)
        self.teacher.load_state_dict(plain.state_dict(), strict=False)
        self.averaged_teacher.load_state_dict(self.teacher.state_dict())

    def loss_of(self, crops: Tensor, texts: Sequence[str], corners: Tensor) -> Tensor:
        if not self.is_taught and self.share_done >= self.plan.until:
            self._finish_teacher()
        if not self.teaches:
            return super().loss_of(crops, texts, corners)
        teacher_logits = self._teach(crops, texts, corners)
        self.reader.train()
        logits, theta = self.reader(crops)
        share = self.plan.after if self.is_taught else self.plan.beside
        loss = (1 - share) * self.reading_loss(logits, texts) + share * column_distance(
            logits, teacher_logits
        )
        return loss + self.corner_loss(theta, corners)

    def _teach(self, crops: Tensor, texts: Sequence[str], corners: Tensor) -> Tensor:
        """Return the teacher's columns; it makes a step of its own while it learns."""
        if self.is_taught:
            with torch.no_grad():
                columns: Tensor = self.averaged_teacher(crops)[0]
            return columns
        self.teacher.train()
        logits, theta = self.teacher(crops)
        loss = self.reading_loss(logits, texts) + self.corner_loss(theta, corners)
        share = self.share_done / max(self.plan.until, 1e-9)
        rate = anneal(share, self.step, self.schedule.warm_up, self.plan.rate)
        self.update(self.teacher, self.teacher_optimizer, loss, rate)
        self.teacher_average.update_parameters(self.teacher)
        teacher_logits: Tensor = logits.detach()
        return teacher_logits

    @property
    def averaged_teacher(self) -> Reader:
        """The running average of the teacher."""
        average = self.teacher_average.module
        assert isinstance(average, Reader)
        return average

    def _finish_teacher(self) -> None:
        """Give the teacher its final statistics, and ask whether it is good enough to teach on."""
        self.is_taught = True
        self.averaged_teacher.eval().quick = True
        if self.typical is not None:
            settle(self.averaged_teacher, self.typical)
            settle(self.averaged, self.typical)
        if self.judge is not None:
            teacher, reader = self.judge(self.averaged_teacher), self.judge(self.averaged)
            self.teaches = teacher >= reader
            log.info(
                "step %d: the teacher reads %.1f %% of the plates that are measured, the reader "
                "%.1f %%: it teaches %s", self.step, 100 * teacher, 100 * reader,
                "on" if self.teaches else "no longer",
            )  # fmt: skip

    def state(self) -> dict[str, Any]:
        learning = {} if self.is_taught else {
            "teacher": self.teacher.state_dict(),
            "teacher_optimizer": self.teacher_optimizer.state_dict(),
        }  # fmt: skip
        return {
            **super().state(),
            **learning,
            "teacher_average": self.teacher_average.state_dict(),
            "is_taught": self.is_taught,
            "teaches": self.teaches,
        }

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        self.teacher_average.load_state_dict(state["teacher_average"])
        self.is_taught, self.teaches = state["is_taught"], state["teaches"]
        self.averaged_teacher.eval().quick = self.is_taught
        if not self.is_taught:
            self.teacher.load_state_dict(state["teacher"])
            self.teacher_optimizer.load_state_dict(state["teacher_optimizer"])
