"""Measurement of the reader on test plates, at the start and at every checkpoint."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from orchestrator.reading.ctc import collapse
from workshop.rendering.samples.synth import Batch, cut
from workshop.training.metrics import Metrics, ReaderRow, can_draw, draw_reader
from workshop.training.reader.crops import RealCrop, inner_box
from workshop.training.reader.reader_trainer import CPU, ReaderTrainer, settle
from workshop.training.reader.sample_pools import to_input

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Check:
    """A set of plates to measure the reader on.

    Attributes:
        name: `rendered`, `held out`, or that of a blind set.
        crops: (N, 24, 94, 3) uint8 BGR.
        texts: N texts.
    """

    name: str
    crops: NDArray[np.uint8]
    texts: Sequence[str]

    @classmethod
    def of(cls, name: str, batch: Batch) -> Check:
        return cls(name, batch.crops, batch.texts)

    @classmethod
    def of_real(cls, crops: Sequence[RealCrop]) -> Check:
        return cls("held out", cut_exactly(crops), [crop.text for crop in crops])


def cut_exactly(crops: Sequence[RealCrop]) -> NDArray[np.uint8]:
    """Cut real crops without any change: (N, 24, 94, 3) uint8 BGR."""
    return np.stack([cut(crop.picture, inner_box(crop.picture), crop.lines) for crop in crops])


def best_path(logits: Tensor, alphabet: str) -> list[str]:
    """Read (B, classes, 18) logits: take each column's best class, merge repeats, drop blanks."""
    rows = (collapse(row, len(alphabet)) for row in logits.argmax(dim=1).tolist())
    return ["".join(alphabet[klass] for klass in row) for row in rows]


@torch.no_grad()
def read(reader: nn.Module, crops: NDArray[np.uint8], alphabet: str, batch: int = 128) -> list[str]:
    """Read (N, 24, 94, 3) uint8 BGR crops."""
    reader.eval()
    device = next((weight.device for weight in reader.parameters()), CPU)
    parts = (to_input(part.to(device)) for part in torch.from_numpy(crops).split(batch))
    return [text for part in parts for text in best_path(reader(part)[0], alphabet)]


def accuracy(reader: nn.Module, check: Check, alphabet: str) -> float:
    """Return the share of the plates that are read exactly."""
    texts = read(reader, check.crops, alphabet)
    right = [text == two for text, two in zip(texts, check.texts, strict=True)]
    return sum(right) / max(1, len(right))


def mean_accuracy(reader: nn.Module, checks: Sequence[Check], alphabet: str) -> float:
    """Return the mean over sets of plates of the share that is read exactly."""
    return sum(accuracy(reader, check, alphabet) for check in checks) / max(1, len(checks))


class Examiner:
    """Measures a reader, and writes the figures to the run's `metrics.csv` and `metrics.png`."""

    def __init__(self, checks: Sequence[Check], typical: Tensor, out: Path, step: int) -> None:
        """Begin without figures, or load those of a resumed run.

        Args:
            checks: Sets of plates to measure on.
            typical: Crops from which batch normalisation takes its statistics.
            out: Folder of the run.
            step: Step at which the run begins or resumes.
        """
        self._checks, self._typical, self._out = checks, typical, out
        self._metrics = Metrics(ReaderRow, out, step)
        self._draws = can_draw()

    def examine(self, trainer: ReaderTrainer) -> None:
        """Measure the current weights and their average, unless this step has figures.

        Both use batch statistics of the typical crops; the average gets them at a checkpoint. At
        step 0 the weights are measured unchanged.
        """
        if self._metrics.has(trainer.step):
            return
        raw = deepcopy(trainer.reader)
        if trainer.step:
            settle(raw, self._typical)
        self._metrics.add([self._measure(trainer, raw, check) for check in self._checks])
        if self._draws:
            draw_reader(self._metrics.rows, self._out)

    def _measure(self, trainer: ReaderTrainer, raw: nn.Module, check: Check) -> ReaderRow:
        alphabet, step = trainer.formats.alphabet, trainer.step
        row = ReaderRow(
            step,
            trainer.loss,
            trainer.optimizer.param_groups[0]["lr"] if step else None,
            check.name,
            len(check.texts),
            accuracy(raw, check, alphabet),
            accuracy(trainer.averaged, check, alphabet),
        )
        log.info(
            "step %d: %.1f %% of %d %s plates read, by the weights of the moment %.1f %%",
            step, 100 * row.averaged_accuracy, row.plates, row.set, 100 * row.raw_accuracy,
        )  # fmt: skip
        return row
