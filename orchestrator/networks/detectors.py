"""A foreign detector: a TorchScript archive instead of our state dict.

Its input is uint8 [B, H, W, 3] BGR; H and W are multiples of 32. Its output is float32 [B, K, 6]:
x0 y0 x1 y1 in pixels of that input, a score in [0, 1] and a class. Rows of score 0 are padding.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from orchestrator.contract import DETECTOR
from orchestrator.detection.letterbox import PAD_GREY, Letterbox
from orchestrator.detection.postprocessing import check_boxes, check_rows
from orchestrator.errors import ModelError, WeightsError
from orchestrator.networks.weights import check_listed

SIZES_HW = ((96, 160), (128, 64))
"""Sizes of the pictures that a detector is tested with: small ones with unequal sides."""
WEIGHTS_OF_COLUMNS = torch.tensor([1.0, 1, 1, 1, 100, 100])
"""Weights of the differences: a pixel of a box counts as much as a hundredth of a score."""
MAX_DISTANCE = 1.0
"""Largest weighted distance of a row from the same row in a batch: batched arithmetic differs a
little."""
MIN_RECALL = 0.9
"""Smallest share of the rows found again in a batch. Among rows with equal scores, others may be
the K best."""


def load_detector(path: Path) -> torch.jit.ScriptModule:
    """Load a TorchScript archive onto the CPU and test it.

    Raises:
        WeightsError: The file is missing, is not the listed one, cannot be loaded by this PyTorch,
            or breaks the contract of a detector.
    """
    check_listed(path)
    try:
        module = _read(str(path), "cpu").eval()
    except RuntimeError as error:
        raise WeightsError(
            f"{path}: wanted TorchScript that PyTorch {torch.__version__} loads without other "
            f"packages, got {_first_line(error)}"
        ) from error
    check_detector(module, source=str(path))
    return module


def check_detector(detector: Callable[[Tensor], Tensor], *, source: str = DETECTOR) -> None:
    """Test a detector with grey and random pictures of two sizes, alone and in a batch.

    Args:
        detector: Takes uint8 [B, H, W, 3].
        source: The name in an error, for example the file.

    Raises:
        WeightsError: It breaks the contract.
    """
    for height, width in SIZES_HW:
        grey = torch.full((1, height, width, 3), PAD_GREY, dtype=torch.uint8)
        generator = torch.Generator().manual_seed(height)
        noise = torch.randint(0, 256, grey.shape, dtype=torch.uint8, generator=generator)
        try:
            alone = [check_answer(detector, picture) for picture in (grey, noise)]
            together = _run(detector, torch.cat((grey, noise)))
            if not all(map(_are_alike, alone, together)):
                raise ModelError(
                    "wanted the same answers in a batch of two as for each picture alone, "
                    "got others"
                )
        except ModelError as error:
            reason = str(error).removeprefix(f"{DETECTOR}: ")
            raise WeightsError(f"{source}: {width}x{height} pictures: {reason}") from error


def check_answer(detector: Callable[[Tensor], Tensor], picture: Tensor) -> Tensor:
    """Return a detector's rows [K, 6] of one picture, uint8 [1, H, W, 3].

    Raises:
        ModelError: They break the contract. Rows with low scores count, too: no rounding makes a
            box of these empty.
    """
    answer = _run(detector, picture)
    check_rows(answer, 1)
    rows: Tensor = answer[0]
    is_a_box = (rows[:, 4] > 0) & (rows[:, 0] != rows[:, 2]) & (rows[:, 1] != rows[:, 3])
    if is_a_box.any():
        size_wh = picture.shape[2], picture.shape[1]
        check_boxes(rows[is_a_box], Letterbox(picture, 1.0, (0, 0)), size_wh)
    return rows


def move(module: torch.jit.ScriptModule, device: torch.device) -> torch.jit.ScriptModule:
    """Return a loaded archive on a device; `to` alone would leave its constants behind."""
    if device.type == "cpu":
        return module
    archive = io.BytesIO(module.save_to_buffer())
    return _read(archive, device).eval()


def _read(source: str | io.BytesIO, device: str | torch.device) -> torch.jit.ScriptModule:
    with warnings.catch_warnings():  # deprecated, but Triton's PyTorch backend serves it best
        warnings.simplefilter("ignore", DeprecationWarning)
        module: torch.jit.ScriptModule = torch.jit.load(source, map_location=device)
    return module


@torch.inference_mode()
def _run(detector: Callable[[Tensor], Tensor], pictures: Tensor) -> Tensor:
    count = len(pictures)
    try:
        rows = detector(pictures)
    except Exception as error:  # foreign code may raise any error
        raise ModelError(
            f"wanted an answer to uint8 {list(pictures.shape)}, as sides are any multiples of 32, "
            f"got {_last_line(error)}"
        ) from error
    if not isinstance(rows, Tensor):
        raise ModelError(f"wanted float32 [{count}, K, 6], got a {type(rows).__name__}")
    if rows.dtype != torch.float32 or rows.ndim != 3 or rows.shape[::2] != (count, 6):
        kind = str(rows.dtype).removeprefix("torch.")
        raise ModelError(f"wanted float32 [{count}, K, 6], got {kind} {list(rows.shape)}")
    return rows


def _are_alike(alone: Tensor, together: Tensor) -> bool:
    """Tell whether two answers [K, 6] have the same rows, apart from padding and order."""
    first, second = (rows[rows[:, 4] > 0] * WEIGHTS_OF_COLUMNS for rows in (alone, together))
    if not len(first) or not len(second):
        return len(first) == len(second)
    distances = torch.cdist(first, second, compute_mode="donot_use_mm_for_euclid_dist")
    shares = (distances.amin(dim).le(MAX_DISTANCE).float().mean().item() for dim in (0, 1))
    return min(shares) >= MIN_RECALL


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def _last_line(error: Exception) -> str:
    last = str(error).strip().rpartition("\n")[2]
    return last.rpartition("RuntimeError: ")[2] or type(error).__name__
