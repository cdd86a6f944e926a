"""Weights: plain state dicts, each listed with its SHA-256 in `weights/SHA256SUMS`."""

from __future__ import annotations

import hashlib
import pickle
import re
from pathlib import Path

import torch
from torch import Tensor

from orchestrator.errors import WeightsError

WEIGHTS = Path(__file__).resolve().parents[2] / "weights"
STATE = "net_state_dict"
"""Where checkpoints with more than the weights keep them."""
FILES = {"yolo": "yolo.pt", "stn": "stn.pth", "lprnet": "lprnet.pth"}
LISTED = re.compile(r"(\.pth?|\.int8\.(xml|bin))$")
"""Files that SHA256SUMS lists."""


def load_state(network: str, folder: Path = WEIGHTS) -> dict[str, Tensor]:
    """Load the weights of `yolo`, `stn` or `lprnet`, with subnormal numbers made zero.

    Subnormals change no output and slow a CPU down up to fifteen times.

    Raises:
        WeightsError: The file is missing, or is not the one that SHA256SUMS lists.
    """
    path = folder / FILES[network]
    check_listed(path)
    state: dict[str, Tensor] = torch.load(path, map_location="cpu", weights_only=True)
    return {name: without_subnormals(tensor) for name, tensor in state.items()}


def read_state(path: Path) -> dict[str, Tensor]:
    """Read anybody's checkpoint as tensors; nothing in the file is ever executed.

    Args:
        path: A plain state dict, or a dict with one under `net_state_dict`.

    Raises:
        WeightsError: The file is missing or holds something else.
    """
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except OSError as error:
        raise WeightsError(f"{path}: wanted a readable file, got {error.strerror}") from error
    except (pickle.UnpicklingError, RuntimeError, EOFError, ValueError, KeyError) as error:
        raise WeightsError(
            f"{path}: wanted a PyTorch file of tensors only, got something else"
        ) from error
    state = content.get(STATE, content) if isinstance(content, dict) else content
    if not isinstance(state, dict) or not all(isinstance(t, Tensor) for t in state.values()):
        raise WeightsError(
            f"{path}: wanted a state dict, or one under {STATE!r}, got {_described(state)}"
        )
    return state


def _described(content: object) -> str:
    if isinstance(content, dict):
        return f"a dict of {', '.join(map(str, [*content][:5]))}"
    return f"a {type(content).__name__}"


def without_subnormals(tensor: Tensor) -> Tensor:
    """Return the tensor with subnormal floats replaced by zero; others are returned as they are."""
    if not tensor.is_floating_point():
        return tensor
    tiny = torch.finfo(tensor.dtype).tiny
    return torch.where(tensor.abs() < tiny, torch.zeros_like(tensor), tensor)


def check_listed(path: Path) -> str:
    """Compare a weight file with its line in SHA256SUMS and return its SHA-256.

    Raises:
        WeightsError: The file or its line is missing, or they differ.
    """
    if not path.is_file():
        raise WeightsError(f"weights: wanted {path}, got no such file")
    listed = _listed(path.parent).get(path.name)
    actual = sha256(path)
    if actual != listed:
        raise WeightsError(
            f"{path}: wanted SHA-256 {listed or 'listed in SHA256SUMS'}, got {actual}; "
            f"after training, run: cd {path.parent} && sha256sum *.pt* *.int8.* > SHA256SUMS"
        )
    return actual


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal digits."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def list_sums(folder: Path) -> list[str]:
    """Write SHA256SUMS of the weights that a folder has, and return their file names."""
    present = sorted(file.name for file in folder.iterdir() if LISTED.search(file.name))
    lines = [f"{sha256(folder / file)}  {file}\n" for file in present]
    (folder / "SHA256SUMS").write_text("".join(lines), encoding="utf-8")
    return present


def _listed(folder: Path) -> dict[str, str]:
    sums = folder / "SHA256SUMS"
    if not sums.is_file():
        return {}
    lines = (line.split(maxsplit=1) for line in sums.read_text().splitlines() if line.strip())
    return {name.lstrip("*"): digest for digest, name in lines}
