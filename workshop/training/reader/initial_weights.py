"""Initial weights of a reader's training; they may have a smaller width or another alphabet."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from operator import gt
from pathlib import Path

import torch
from torch import Tensor, nn

from orchestrator.contract import FORMATS_FILE, READER, RECTIFIER
from orchestrator.errors import WeightsError
from orchestrator.formats.plate_formats import read_formats
from orchestrator.networks.registry import NETWORKS
from orchestrator.networks.state_dicts import pop_alphabet, read_state
from orchestrator.networks.two_readers import ABROAD, select_part
from workshop.evaluation.checkpoints import CONTEXT, UNNAMED_ALPHABET

log = logging.getLogger(__name__)

OF_CLASSES = ("backbone.20.", "backbone.21.", "container.")
"""LPRNet's layers with a row for each class."""


def take_weights(stn: nn.Module, lprnet: nn.Module, folder: Path, alphabet: str) -> None:
    """Load the weights of a folder, `stn.pth` and `lprnet.pth`, as the start of a training.

    If the alphabets differ, only the rows of common characters and of the blank are loaded; they
    take nothing from the other characters, whose rows keep their new weights. Weights of narrower
    networks are grown. Of `TwoReaders` the one for all countries is taken. The folder's alphabet is
    that of its `formats.toml`, else that of `lprnet.pth`. Older files do not name it; its value is
    then `UNNAMED_ALPHABET`.

    Args:
        stn: Network that gets the weights.
        lprnet: Network that gets the weights, rearranged.
        folder: Folder with `stn.pth` and `lprnet.pth`.
        alphabet: Alphabet of the classes of `lprnet`.

    Raises:
        WeightsError: A file cannot be read, or belongs to another network or alphabet.
    """
    _take(stn, grow(read_state(folder / NETWORKS[RECTIFIER].weights), stn.state_dict()), folder)
    state = read_state(folder / NETWORKS[READER].weights)
    theirs = _agree(folder, pop_alphabet(state))
    state = select_part(state, ABROAD) or state
    rows = len(state.get("container.bias", ()))
    if rows != len(theirs) + 1:
        raise WeightsError(
            f"{folder}: wanted LPRNet with {len(theirs) + 1} classes, those of its alphabet "
            f"{theirs}, got {rows}"
        )
    if theirs != alphabet:
        state = adapt(state, lprnet.state_dict(), theirs, alphabet)
        fresh = "".join(char for char in alphabet if char not in theirs)
        log.info("start: another alphabet, fresh weights for %s", fresh or "no character")
    _take(lprnet, grow(state, lprnet.state_dict()), folder)


def grow(state: dict[str, Tensor], fresh: dict[str, Tensor]) -> dict[str, Tensor]:
    """Copy the weights of a narrower network into a wider one that computes the same function.

    New channels have random weights for all inputs. Old channels have weight 0 for new inputs.
    Source: Chen et al. 2016, "Net2Net: Accelerating Learning via Knowledge Transfer".

    Args:
        state: Weights of the narrower network.
        fresh: New weights of the wider network, with which its new channels begin.
    """
    return {
        name: _spread(tensor, fresh[name]) if name in fresh else tensor
        for name, tensor in state.items()
    }


def _spread(tensor: Tensor, fresh: Tensor) -> Tensor:
    """Put a tensor into the first rows and columns of `fresh`, with zeros to its right."""
    if tensor.ndim != fresh.ndim or tensor.shape[2:] != fresh.shape[2:]:
        return tensor  # of another network: loading it raises an error
    if tensor.shape == fresh.shape or any(map(gt, tensor.shape, fresh.shape)):
        return tensor
    grown = fresh.clone()
    grown[: len(tensor)] = 0
    grown[tuple(map(slice, tensor.shape))] = tensor
    return grown


def _agree(folder: Path, alphabet_of_weights: str | None) -> str:
    """Return the alphabet of a folder's reader; its weights may name the alphabet, too."""
    file = folder / FORMATS_FILE
    if not file.exists():
        return alphabet_of_weights or UNNAMED_ALPHABET
    alphabet = read_formats(file).alphabet
    if alphabet_of_weights not in (None, alphabet):
        raise WeightsError(
            f"{folder}: wanted {NETWORKS[READER].weights} in the alphabet of its {FORMATS_FILE}, "
            f"{alphabet}, got one in {alphabet_of_weights}"
        )
    return alphabet


def adapt(
    state: dict[str, Tensor], fresh: dict[str, Tensor], theirs: Sequence[str], ours: Sequence[str]
) -> dict[str, Tensor]:
    """Rearrange the weights of an LPRNet for another alphabet.

    Args:
        state: Weights to rearrange.
        fresh: New weights for the new alphabet; characters that only it has begin with them.
        theirs: Alphabet of `state`.
        ours: Alphabet of `fresh`.
    """
    pairs = [(new, theirs.index(char)) for new, char in enumerate(ours) if char in theirs]
    pairs.append((len(ours), len(theirs)))  # the blank
    return {
        name: _rearrange(tensor, fresh[name], pairs)
        if name.startswith(OF_CLASSES) and tensor.ndim
        else tensor
        for name, tensor in state.items()
    }


def _rearrange(tensor: Tensor, fresh: Tensor, pairs: list[tuple[int, int]]) -> Tensor:
    """Put the rows of `tensor`, and the columns of the classes, into a copy of `fresh`."""
    result = fresh.clone()
    new, old = (torch.tensor(column) for column in zip(*pairs, strict=True))
    if tensor.ndim == 4 and tensor.shape[1] > CONTEXT:
        context = torch.arange(CONTEXT)
        new_columns, old_columns = (torch.cat([context, CONTEXT + part]) for part in (new, old))
        result[new] = 0  # known characters take nothing from new ones
        result[new[:, None], new_columns] = tensor[old[:, None], old_columns]
    else:
        result[new] = tensor[old]
    return result


def _take(network: nn.Module, state: dict[str, Tensor], folder: Path) -> None:
    try:
        network.load_state_dict(state)
    except RuntimeError as error:
        raise WeightsError(f"{folder}: wanted weights of {type(network).__name__}, got others: "
                           f"{error}") from error  # fmt: skip
    log.info("start: took %s from %s", type(network).__name__, folder)
