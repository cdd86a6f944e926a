"""Training of the reader with a teacher: both learn together, then the teacher stands still."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

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
from workshop.training.reader.teacher import Teacher, column_distance
from workshop.training.schedules import anneal

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
        self.taught.load_state_dict(self.teacher.state_dict())

    def loss_of(self, crops: Tensor, texts: Sequence[str], corners: Tensor) -> Tensor:
        if not self.is_taught and self.done >= self.plan.until:
            self._finish_teacher()
        if not self.teaches:
            return super().loss_of(crops, texts, corners)
        taught = self._teach(crops, texts, corners)
        self.reader.train()
        logits, theta = self.reader(crops)
        share = self.plan.after if self.is_taught else self.plan.beside
        loss = (1 - share) * self.reading_loss(logits, texts) + share * column_distance(
            logits, taught
        )
        return loss + self.corner_loss(theta, corners)

    def _teach(self, crops: Tensor, texts: Sequence[str], corners: Tensor) -> Tensor:
        """Return the teacher's columns; it makes a step of its own while it learns."""
        if self.is_taught:
            with torch.no_grad():
                columns: Tensor = self.taught(crops)[0]
            return columns
        self.teacher.train()
        logits, theta = self.teacher(crops)
        loss = self.reading_loss(logits, texts) + self.corner_loss(theta, corners)
        done = self.done / max(self.plan.until, 1e-9)
        rate = anneal(done, self.step, self.schedule.warm_up, self.plan.rate)
        self.update(self.teacher, self.teacher_optimizer, loss, rate)
        self.teacher_average.update_parameters(self.teacher)
        taught: Tensor = logits.detach()
        return taught

    @property
    def taught(self) -> Reader:
        """The running average of the teacher."""
        average = self.teacher_average.module
        assert isinstance(average, Reader)
        return average

    def _finish_teacher(self) -> None:
        """Give the teacher its final statistics, and ask whether it is good enough to teach on."""
        self.is_taught = True
        self.taught.eval().quick = True
        if self.typical is not None:
            settle(self.taught, self.typical)
            settle(self.averaged, self.typical)
        if self.judge is not None:
            teacher, reader = self.judge(self.taught), self.judge(self.averaged)
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
        self.taught.eval().quick = self.is_taught
        if not self.is_taught:
            self.teacher.load_state_dict(state["teacher"])
            self.teacher_optimizer.load_state_dict(state["teacher_optimizer"])
