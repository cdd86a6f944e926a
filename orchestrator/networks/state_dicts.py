"""State dicts: reads them without running anything in the file, and cleans them for CPUs."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import torch
from torch import Tensor

from orchestrator.errors import WeightsError
from orchestrator.networks.registry import NETWORKS, is_archive
from orchestrator.networks.weights import WEIGHTS, check_listed

STATE = "net_state_dict"
"""Key of the weights in checkpoints that hold more than the weights."""
ALPHABET = "alphabet"
"""A tensor beside the reader's weights: the characters of its classes as int32 code points."""


def load_state(network: str, folder: Path = WEIGHTS) -> dict[str, Tensor]:
    """Load the weights of a network of the registry, with subnormal numbers set to zero.

    Subnormals change no output, but slow a CPU down up to fifteen times.

    Raises:
        WeightsError: The file is missing, is not the one that SHA256SUMS lists, holds something
            else, or is a foreign detector.
    """
    path = folder / NETWORKS[network].weights
    check_listed(path)
    if is_archive(path):
        raise WeightsError(f"{path}: wanted a state dict, got a TorchScript archive")
    return {name: without_subnormals(tensor) for name, tensor in read_state(path).items()}


def with_alphabet(state: dict[str, Tensor], alphabet: str) -> dict[str, Tensor]:
    """Return the weights of a reader with the characters of its classes, in their order."""
    return {**state, ALPHABET: torch.tensor([*map(ord, alphabet)], dtype=torch.int32)}


def pop_alphabet(state: dict[str, Tensor]) -> str | None:
    """Remove the characters from a reader's weights and return them; None if it has none."""
    points = state.pop(ALPHABET, None)
    return None if points is None else "".join(map(chr, points.tolist()))


def read_state(path: Path) -> dict[str, Tensor]:
    """Read any checkpoint as tensors; nothing in the file is ever executed.

    Args:
        path: A plain state dict, or a dict with one under `net_state_dict`.

    Raises:
        WeightsError: The file is missing or holds something else.
    """
    try:
        content = torch.load(BytesIO(path.read_bytes()), map_location="cpu", weights_only=True)
    except OSError as error:
        raise WeightsError(f"{path}: cannot be read: {error.strerror}") from error
    except Exception as error:  # PyTorch raises nearly any error at foreign bytes
        raise WeightsError(
            f"{path}: wanted a PyTorch file of tensors only, got something else"
        ) from error
    state = content.get(STATE, content) if isinstance(content, dict) else content
    if not isinstance(state, dict) or not all(isinstance(t, Tensor) for t in state.values()):
        raise WeightsError(
            f"{path}: wanted a state dict, or one under {STATE!r}, got {_describe(state)}"
        )
    return state


def _describe(content: object) -> str:
    if isinstance(content, dict):
        return f"a dict of {', '.join(map(str, [*content][:5]))}"
    return f"a {type(content).__name__}"


def without_subnormals(tensor: Tensor) -> Tensor:
    """Return the tensor with subnormal floats replaced by zero; others are returned unchanged."""
    if not tensor.is_floating_point():
        return tensor
    tiny = torch.finfo(tensor.dtype).tiny
    return torch.where(tensor.abs() < tiny, torch.zeros_like(tensor), tensor)
