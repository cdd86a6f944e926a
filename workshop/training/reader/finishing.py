"""The end of a reader's training: the mean that is shipped, its scores, and what was run."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from orchestrator.contract import READER, RECTIFIER
from orchestrator.errors import PlateError
from orchestrator.networks.registry import NETWORKS
from orchestrator.networks.weights import sha256
from workshop.reporting.files import write_report
from workshop.reporting.machine import Machine, describe_machine
from workshop.training.reader.calibration import calibrate, choose_plates
from workshop.training.reader.examination import Check, accuracy
from workshop.training.reader.home_reader import keep_home_reader
from workshop.training.reader.material import Material
from workshop.training.reader.reader_recipe import ReaderSchedule
from workshop.training.reader.reader_trainer import Reader, ReaderTrainer, save_reader
from workshop.training.reader.sources import RenderedPlates
from workshop.training.runs import complete

log = logging.getLogger(__name__)

RECORD = "run.json"


@dataclass(frozen=True)
class Mean:
    """A mean of the new weights and those of the start, and what it reads.

    Attributes:
        share: Share of the new weights.
        read: Share of the plates that are read exactly, by the names of the sets.
    """

    share: float
    read: Mapping[str, float]

    @property
    def score(self) -> float:
        """Mean over the sets."""
        return sum(self.read.values()) / max(1, len(self.read))


@dataclass(frozen=True)
class RunRecord:
    """What was run, for the weights' card; `recipe.toml` beside it has the settings.

    Attributes:
        machine: Machine of the last part of the run.
        steps: Number of steps.
        spent_s: Seconds from the start to the last step, all parts together.
        views: Number of crops that the steps drew.
        training_crops: Number of real crops to learn from.
        held_out_crops: Number of real crops that are only measured on.
        plates: Number of plates in each set.
        means: All means that were compared.
        share: Share of the new weights in the shipped mean.
        temperature: Number that the logits were divided by; None: scores are not calibrated.
        weights: SHA-256 of the shipped files.
    """

    machine: Machine
    steps: int
    spent_s: float
    views: int
    training_crops: int
    held_out_crops: int
    plates: Mapping[str, int]
    means: tuple[Mean, ...]
    share: float
    temperature: float | None
    weights: Mapping[str, str]


def finish(
    trainer: ReaderTrainer,
    out: Path,
    material: Material,
    checks: Sequence[Check],
    home: Path | None = None,
) -> None:
    """Write the mean that reads most, its scores calibrated, and a record of the run.

    Args:
        trainer: The trainer after its last step.
        out: Folder of the run.
        material: Data of the run.
        checks: Sets of plates that choose the mean.
        home: Weights whose reader is kept beside the new one; see `ReaderRecipe`.
    """
    means = compare_means(trainer, checks)
    best = max(means, key=lambda mean: mean.score)
    reader = mix(trainer, best.share)
    temperature = _calibrate(reader, trainer.schedule, material)
    save_reader(reader, material.formats.alphabet, out)
    if home:
        keep_home_reader(home, out)
    complete(out)
    files = [NETWORKS[name].weights for name in (RECTIFIER, READER)]
    record = RunRecord(
        machine=describe_machine(),
        steps=trainer.step,
        spent_s=round(trainer.spent_s, 1),
        views=trainer.step * trainer.schedule.batch,
        training_crops=len(material.data.training),
        held_out_crops=len(material.data.held_out),
        plates={check.name: len(check.texts) for check in checks},
        means=tuple(means),
        share=best.share,
        temperature=temperature,
        weights={file: sha256(out / file) for file in files},
    )
    write_report(record, out / RECORD)


def compare_means(trainer: ReaderTrainer, checks: Sequence[Check]) -> list[Mean]:
    """Measure the means of the new weights and the start's on all sets, in the recipe's order."""
    means = []
    for share in trainer.schedule.means:
        reader, alphabet = mix(trainer, share), trainer.formats.alphabet
        mean = Mean(share, {check.name: accuracy(reader, check, alphabet) for check in checks})
        means.append(mean)
        sets = ", ".join(
            f"{name} {100 * share_read:.1f} %" for name, share_read in mean.read.items()
        )
        log.info("%.2f of the new weights: %.1f %%: %s", share, 100 * mean.score, sets)
    return means


def mix(trainer: ReaderTrainer, share: float) -> Reader:
    """Return the mean of the new weights and those of the start.

    It is often better than both on plates that neither was trained on. Source: Wortsman et al.
    2022, "Model soups: averaging weights of multiple fine-tuned models improves accuracy without
    increasing inference time".
    """
    reader = deepcopy(trainer.averaged)
    if share < 1:
        mean = {
            name: torch.lerp(trainer.start[name], new, share) if new.is_floating_point() else new
            for name, new in reader.state_dict().items()
        }
        reader.load_state_dict(mean)
    return reader


def _calibrate(reader: Reader, schedule: ReaderSchedule, material: Material) -> float | None:
    """Calibrate LPRNet's text scores as probabilities; returns the temperature."""
    source = RenderedPlates(material.file) if material.country else None
    held_out = None
    if material.data.held_out:
        real = material.real(material.data.held_out)
        held_out = replace(real, exchanged=0.0, hard_share=0.0)
    try:  # a country that cannot be drawn any more is no error
        plates = choose_plates(
            held_out, source, schedule.seed, schedule.calibrated, material.workers
        )
    except PlateError as error:
        log.warning("text scores are not calibrated: %s", error)
        return None
    if plates is None:
        return None
    temperature = calibrate(reader, reader.lprnet, plates, material.formats)
    log.info("calibrated text scores: logits divided by %.2f", temperature)
    return temperature
