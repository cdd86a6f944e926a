"""Puts checkpoints from other projects into a weights folder like ours, ready to be served.

The architectures are widespread. Their checkpoints differ from ours only in the file structure.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from orchestrator.contract import FORMATS_FILE, READER
from orchestrator.errors import WeightsError
from orchestrator.formats.plate_formats import Formats, russian
from orchestrator.networks import quantized
from orchestrator.networks.openvino_ir import weights_of
from orchestrator.networks.registry import NETWORKS
from orchestrator.networks.state_dicts import pop_alphabet, read_state, with_alphabet
from orchestrator.networks.weights import (
    check_alphabet,
    check_listed,
    choose_formats,
    list_sums,
    sha256,
)

UNNAMED_ALPHABET = "0123456789ABEKMHOPCTYX"
"""Alphabet of readers whose weights do not name theirs: Russian plates except diplomatic ones."""
NEVER = -30.0
"""Logit of a character that is never read; those of others lie between -15 and 15."""
CONTEXT = 64 + 128 + 256
"""Channels of LPRNet's last convolution that are no classes; the classes follow them."""


def widen(state: dict[str, Tensor], alphabet: str, target: str) -> dict[str, Tensor]:
    """Return the weights of an LPRNet for a longer alphabet; its readings stay the same.

    Args:
        state: Weights with as many classes as `alphabet` has characters, and the blank.
        alphabet: The alphabet of the weights.
        target: The alphabet followed by other characters.

    Raises:
        WeightsError: `target` does not begin with the alphabet, or the weights have other classes.
    """
    count, more = len(alphabet), len(target) - len(alphabet)
    rows = len(state.get("container.bias", ()))
    if not target.startswith(alphabet) or rows != count + 1:
        raise WeightsError(
            f"reader: wanted the first characters of {target} and a class for each and the blank, "
            f"got {alphabet} and {rows} classes"
        )

    def insert(tensor: Tensor, value: float, at: int, dim: int = 0) -> Tensor:
        shape = [more if axis == dim else size for axis, size in enumerate(tensor.shape)]
        before, after = tensor.tensor_split([at], dim=dim)
        return torch.cat((before, tensor.new_full(shape, value), after), dim=dim)

    fresh = {"backbone.21.running_var": 1.0, "container.bias": NEVER}
    wide = {
        name: insert(tensor, fresh.get(name, 0.0), count)
        if name.startswith(("backbone.20.", "backbone.21.", "container.")) and tensor.ndim
        else tensor
        for name, tensor in state.items()
    }
    # LPRNet divides these channels by the mean of their squares, which silent ones make smaller.
    weight = wide["container.weight"].clone()
    weight[:, CONTEXT:] *= (count + 1) / (len(target) + 1)
    return {**wide, "container.weight": insert(weight, 0.0, CONTEXT + count, dim=1)}


def read_checkpoint(name: str, path: Path, formats: Formats | None = None) -> dict[str, Tensor]:
    """Read the weights of `yolo`, `stn` or `lprnet`; no code in the file is ever executed.

    The weights of a reader name their alphabet, or the file of formats beside them does. If neither
    does, or if the weights name `UNNAMED_ALPHABET`, the last characters may be missing.

    Args:
        name: The name of the network.
        path: A plain state dict, or a dict with one under `net_state_dict`.
        formats: The formats that it was trained for; Russian formats when None.

    Raises:
        WeightsError: The file is missing, is not a checkpoint, does not fit the network, or reads
            another alphabet.
    """
    state, formats = read_state(path), formats or russian()
    if name == READER:
        state = _fit_alphabet(state, path, formats)
    _check_fit(name, state, path, formats)
    return state


def _fit_alphabet(state: dict[str, Tensor], path: Path, formats: Formats) -> dict[str, Tensor]:
    """Return a reader's weights in the formats' alphabet, without the tensor that names it."""
    alphabet = pop_alphabet(state)
    if alphabet is None and (path.parent / FORMATS_FILE).is_file():
        check_alphabet(path.parent, formats)
    elif (
        alphabet in (None, UNNAMED_ALPHABET)
        and len(state.get("container.bias", ())) == len(UNNAMED_ALPHABET) + 1
    ):
        return widen(state, UNNAMED_ALPHABET, formats.alphabet)
    if alphabet not in (None, formats.alphabet):
        raise WeightsError(
            f"{path}: wanted a reader of the formats' alphabet, {formats.alphabet}, got {alphabet}"
        )
    return state


def _check_fit(name: str, state: Mapping[str, Tensor], path: Path, formats: Formats) -> None:
    """Compare the names and shapes of a state dict with those of the network."""
    network = NETWORKS[name].build(formats, state)
    expected_shapes = {key: list(tensor.shape) for key, tensor in network.state_dict().items()}
    shapes = {key: list(tensor.shape) for key, tensor in state.items()}
    for key in [*expected_shapes, *shapes]:
        if expected_shapes.get(key) != shapes.get(key):
            raise WeightsError(
                f"{path}: wanted {name}'s {key} {expected_shapes.get(key, 'not at all')}, "
                f"got {shapes.get(key, 'none')}"
            )


def assemble(
    checkpoints: Mapping[str, Path], base: Path, folder: Path, formats: Formats | None = None
) -> dict[str, str]:
    """Fill a weights folder with the given checkpoints, and our weights for the other networks.

    Args:
        checkpoints: The files of any of `yolo`, `stn` and `lprnet`, by name.
        base: The weights folder that the others are copied from.
        folder: The output folder for the files and their SHA256SUMS.
        formats: The formats that they were trained for; Russian formats when None.

    Returns:
        The SHA-256 of each network's original file.

    Raises:
        WeightsError: A checkpoint cannot be used, or a weight file has another SHA-256 than listed.
    """
    digests, formats = {}, formats or russian()
    shutil.copyfile(choose_formats(base), folder / FORMATS_FILE)
    for name, network in NETWORKS.items():
        file = network.weights
        if name in checkpoints:
            state = read_checkpoint(name, checkpoints[name], formats)
            named_state = with_alphabet(state, formats.alphabet) if name == READER else state
            torch.save(named_state, folder / file)
            digests[name] = sha256(checkpoints[name])
        else:
            digests[name] = check_listed(base / file)
            shutil.copyfile(base / file, folder / file)
        _copy_small(name, base, folder)
    list_sums(folder)
    return digests


def _copy_small(name: str, base: Path, folder: Path) -> None:
    """Copy a network's 8-bit form, even if it belongs to other weights: serving reports that."""
    path = quantized.file_of(name, base)
    for file in (path, weights_of(path)):
        if file.is_file():
            check_listed(file)
            shutil.copyfile(file, folder / file.name)
