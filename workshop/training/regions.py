"""Fit of the penalty on readings with a region that does not exist, on held-out crops.

The country's file holds the penalty as `unknown_region_nats`.

Example:
    python -m workshop.training.regions --crops crops --labels crops/drafts.csv --width-px 40
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from orchestrator.errors import SettingsError
from orchestrator.formats.plate_formats import Formats
from orchestrator.networks.export import load_networks
from orchestrator.networks.weights import WEIGHTS
from orchestrator.reading.ctc import decode
from orchestrator.reading.grammar import Grammar
from orchestrator.reading.passes import Infer, infer_logits, rectify
from workshop.rendering.camera import shrink
from workshop.rendering.commands import Command, at_least
from workshop.training.calibration import SURE, choose_plates
from workshop.training.crops import RealCrop, read_data
from workshop.training.recipes import ReaderData
from workshop.training.sample_pools import to_input

NATS = np.arange(0.0, 8.5, 0.5)
ENOUGH = 1e-3
"""Least gain in mean loss, nats, for a larger penalty; new codes appear every year."""


@dataclass(frozen=True)
class Trial:
    """A penalty weight and its results.

    Attributes:
        nats: Penalty on the log-probability of readings with a region that does not exist.
        loss: Mean negative log-probability of the plates' texts.
        exact: Share of the plates whose best reading is right.
    """

    nats: float
    loss: float
    exact: float


def try_weights(logits: Tensor, texts: Sequence[str], formats: Formats) -> list[Trial]:
    """Read plates with every weight.

    Args:
        logits: float32 [N, classes, T].
        texts: Texts of the N plates; a text that fits one line is read as one, others as two.
        formats: Formats of the plates; their own weight is not used.
    """
    return [_try(logits, texts, replace(formats, unknown_region_nats=float(n))) for n in NATS]


def fit_weight(trials: Sequence[Trial]) -> Trial:
    """Return the least weight whose loss is within `ENOUGH` of the best one."""
    enough = min(trial.loss for trial in trials) + ENOUGH
    return min((one for one in trials if one.loss <= enough), key=lambda one: one.nats)


def _try(logits: Tensor, texts: Sequence[str], formats: Formats) -> Trial:
    chances, exact = np.zeros(len(texts)), np.zeros(len(texts), np.bool_)
    lines = np.array([1 if formats.format_of(text) else 2 for text in texts])
    for count in np.unique(lines):
        chosen = np.flatnonzero(lines == count)
        readings = decode(logits[chosen].numpy(), Grammar.of(formats, int(count)))
        for index, reading in zip(chosen, readings, strict=True):
            chances[index] = dict(reading.candidates).get(texts[index], 0.0)
            exact[index] = bool(reading.candidates) and reading.candidates[0][0] == texts[index]
    loss = -np.log(chances.clip(SURE, 1)).mean()
    return Trial(formats.unknown_region_nats, float(loss), float(exact.mean()))


@torch.no_grad()
def read_held_out(
    data: ReaderData, infer: Infer, formats: Formats, *, seed: int, width_px: int = 0
) -> _Plates:
    """Read the held-out crops, which no training uses; each is cut several times with small errors.

    Args:
        data: Folders and tables of the crops.
        infer: Function that calls STN and LPRNet.
        formats: Formats of the plates.
        seed: Seed of the cuts.
        width_px: Wider crops are shrunk to this width, like plates further away; 0: unchanged.

    Raises:
        SettingsError: The tables cannot be read, or too few crops are held out.
    """
    held_out = read_data(data, formats, train=True).held_out
    if width_px:
        held_out = tuple(_move_away(crop, width_px) for crop in held_out)
    batch = choose_plates(held_out, None, seed)
    if batch is None:
        raise SettingsError(f"crops: wanted more that are held out, got {len(held_out)}")
    straight, _ = rectify(to_input(batch.crops), infer)
    return _Plates(infer_logits(straight, infer), batch.texts)


def _move_away(crop: RealCrop, width_px: int) -> RealCrop:
    factor = width_px / crop.picture.shape[1]
    return replace(crop, picture=shrink(crop.picture, factor)) if factor < 1 else crop


@dataclass(frozen=True)
class _Plates:
    """Logits float32 [N, classes, T] and texts of N plates."""

    logits: Tensor
    texts: list[str]


def _act(given: Namespace) -> None:
    networks = load_networks(given.weights, threads=1)
    formats = networks.formats
    data = ReaderData(given.crops, given.labels, given.votes, validation=given.validation)
    plates = read_held_out(data, networks, formats, seed=given.seed, width_px=given.width_px)
    trials = try_weights(plates.logits, plates.texts, formats)
    for trial in trials:
        print(f"{trial.nats:4.1f} nats  loss {trial.loss:.4f}  exact {trial.exact:.4f}")  # noqa: T201 - a command
    print(f"unknown_region_nats = {fit_weight(trials).nats:.1f}")  # noqa: T201 - a command


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the results of each weight, and the weight to use."""
    command = Command("regions", "Weight of regions that do not exist, from held-out crops.")
    command.add_argument("--crops", type=Path, required=True, help="folder of cut-out plates")
    command.add_argument("--labels", type=Path, required=True, help="CSV of their texts")
    command.add_argument("--votes", type=at_least(0), default=7, help="least of a draft")
    command.add_argument("--validation", type=Path, help="crops to fit on, with labels.csv")
    command.add_argument("--width-px", type=at_least(0), default=0, help="shrink wider crops")
    command.add_argument("--weights", type=Path, default=WEIGHTS)
    command.run(_act, arguments)


if __name__ == "__main__":
    main()
