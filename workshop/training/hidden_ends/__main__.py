"""`python -m workshop.training.hidden_ends --out FILE`: trains the network for hidden ends."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from orchestrator.errors import SettingsError
from orchestrator.formats.plate_formats import russian
from orchestrator.networks.engines import Engine
from orchestrator.networks.export import load_networks
from orchestrator.reading.hidden_ends import read_layers, weigh_ends
from orchestrator.reading.reader import Reader
from orchestrator.settings import Settings
from workshop.rendering.commands import Command, at_least
from workshop.rendering.russia import load_font
from workshop.training.hidden_ends.end_network import save, split, train
from workshop.training.hidden_ends.end_samples import EndSample, photograph_ends, render_ends
from workshop.training.reader.crops import LABELS, photo_of, read_crops

MIN_VOTES, EVIDENCE = 5, range(-2, 7)
"""Votes of nine that a draft of a label needs, and log odds from which ends count as hidden."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Draw the samples, train the network, write it, and judge it on samples that are held out."""
    command = Command("training.hidden_ends", __doc__ or "", has_formats=False)
    command.add_argument("--out", type=Path, required=True, help="npz file to write")
    command.add_argument("--plates", type=at_least(8), default=11_000, help="rendered ones; 11000")
    command.add_argument("--steps", type=at_least(2), default=1600, help="of 128 samples; 1600")
    command.add_argument("--crops", type=Path, help="folder of real crops, as for the reader")
    command.add_argument("--labels", type=Path, help=f"their table; {LABELS} in that folder")
    command.add_argument("--font", type=Path, help="TrueType font for some of the rendered plates")
    command.run(_act, arguments)


def _act(options: argparse.Namespace) -> None:
    if not options.out.parent.is_dir():
        raise SettingsError(f"out: wanted a folder that is there, got {options.out.parent}")
    training, held_out = draw(options)
    if not all(map(len, split(training))):
        raise SettingsError("plates: wanted hidden and whole ends, got one kind; give more plates")
    save(train(training, options.steps, options.seed), options.out)
    layers = read_layers(options.out)
    for source, samples in held_out.items():
        for kind, views in zip(("hidden", "whole"), split(samples), strict=True):
            odds = weigh_ends(views[:, 0], layers)
            shares = ", ".join(
                f"{(odds > evidence).sum()} from {evidence}" for evidence in EVIDENCE
            )
            print(f"{source}: of {len(odds)} {kind} ends count as hidden: {shares}")  # noqa: T201


def draw(options: argparse.Namespace) -> tuple[list[EndSample], dict[str, list[EndSample]]]:
    """Return the samples to learn from, and others to judge by: of one in four or eight plates."""
    reader = Reader.of(load_networks(engine=Engine.OPENVINO_INT8, threads=1), Settings())
    font = load_font(options.font) if options.font else None
    held_out_count, seed = options.plates // 8, options.seed
    training = [*render_ends(options.plates - held_out_count, seed, reader, font)]
    held_out = {"rendered": [*render_ends(held_out_count, seed + 1, reader, font)]}
    if options.crops:
        table = options.labels or options.crops / LABELS
        crops, _ = read_crops(options.crops, table, MIN_VOTES, russian())
        training_crops = [crop for crop in crops if photo_of(crop.name) % 4]
        training += photograph_ends(training_crops, seed, reader)
        held_out_crops = [crop for crop in crops if photo_of(crop.name) % 4 == 0]
        held_out["real"] = [*photograph_ends(held_out_crops, seed, reader)]
    return training, held_out


if __name__ == "__main__":
    main()
