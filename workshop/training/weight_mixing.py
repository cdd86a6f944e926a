"""Weighted mean of the weights of readers, where one was trained from another.

The mean is as good as each network on its own training data. It is often better on data that
neither was trained on. Source: Wortsman et al. 2022, "Model soups: averaging weights of multiple
fine-tuned models improves accuracy without increasing inference time".

Example:
    python -m workshop.training.weight_mixing runs/second=0.6 runs/first=0.4 --out runs/mixed
"""

from __future__ import annotations

import shutil
from argparse import ArgumentTypeError, Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from orchestrator.contract import FORMATS_FILE, READER, RECTIFIER
from orchestrator.errors import SettingsError, WeightsError
from orchestrator.networks.registry import NETWORKS
from orchestrator.networks.state_dicts import pop_alphabet, read_state, with_alphabet
from orchestrator.networks.weights import choose_formats
from workshop.rendering.commands import Command
from workshop.training.reader.initial_weights import grow
from workshop.training.runs import complete, save_tensors


class Part(NamedTuple):
    """A folder with `stn.pth` and `lprnet.pth`, and its share of the mean."""

    folder: Path
    share: float


def mix(parts: Sequence[Part], out: Path) -> None:
    """Write the mean of readers into a folder that can be served.

    Args:
        parts: Readers and their shares. The first reader is the widest one. Narrower ones are
            grown to its width, as at the start of a training.
        out: Folder to write.

    Raises:
        SettingsError: The shares are not positive, or do not add up to 1.
        WeightsError: The weights cannot be read, or their networks or alphabets differ.
    """
    shares = [part.share for part in parts]
    if min(shares) <= 0 or abs(sum(shares) - 1) > 1e-6:
        raise SettingsError(f"shares: wanted positive ones that add up to 1, got {shares}")
    means = {}
    for name in (RECTIFIER, READER):
        file = NETWORKS[name].weights
        states = [read_state(part.folder / file) for part in parts]
        alphabets = {pop_alphabet(state) for state in states}
        if len(alphabets) > 1:
            raise WeightsError(f"{file}: wanted one alphabet, got {sorted(map(str, alphabets))}")
        mean, alphabet = _mean(states, parts), alphabets.pop()
        means[file] = with_alphabet(mean, alphabet) if alphabet else mean
    formats = choose_formats(parts[0].folder)
    out.mkdir(parents=True, exist_ok=True)
    for file, mean in means.items():
        save_tensors(mean, out / file)
    shutil.copyfile(formats, out / FORMATS_FILE)
    complete(out)


def _mean(states: Sequence[dict[str, Tensor]], parts: Sequence[Part]) -> dict[str, Tensor]:
    """Return the weighted mean of state dicts; integers are taken from the first one."""
    first, grown = states[0], [grow(state, states[0]) for state in states]
    for state, part in zip(grown, parts, strict=True):
        if {key: t.shape for key, t in state.items()} != {key: t.shape for key, t in first.items()}:
            raise WeightsError(f"{part.folder}: wanted weights that fit those of {parts[0].folder}")
    return mean_of(grown, [part.share for part in parts])


def mean_of(states: Sequence[dict[str, Tensor]], shares: Sequence[float]) -> dict[str, Tensor]:
    """Return the weighted mean of state dicts; integers are taken from the first one."""
    return {
        key: sum(
            (share * state[key] for state, share in zip(states, shares, strict=True)),
            start=torch.zeros_like(tensor),
        )
        if tensor.is_floating_point()
        else tensor
        for key, tensor in states[0].items()
    }


def _part(text: str) -> Part:
    folder, _, share = text.rpartition("=")
    try:
        return Part(Path(folder), float(share))
    except ValueError as error:
        raise ArgumentTypeError(f"wanted FOLDER=SHARE, got {text}") from error


def _act(options: Namespace) -> None:
    mix(options.parts, options.out)


def main(arguments: Sequence[str] | None = None) -> None:
    """Write a mean of readers."""
    command = Command(
        "training.weight_mixing", "The mean of readers that were trained from one another."
    )
    command.add_argument("parts", type=_part, nargs="+", metavar="FOLDER=SHARE")
    command.add_argument("--out", type=Path, required=True, help="folder to write")
    command.run(_act, arguments)


if __name__ == "__main__":
    main()
