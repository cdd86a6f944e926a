"""The registry of the served networks: each entry has all that other modules need to know.

A step is served like a network, but has no weights: it is tensor arithmetic, always as TorchScript.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.contract import DETECTOR, OUTPUT, PREPARE, READER, RECTIFIER, THETA
from orchestrator.formats.plate_formats import Formats
from orchestrator.networks.engines import Engine

if TYPE_CHECKING:
    from torch import Tensor, nn

CHANNELS, MAX_WIDTH = 32, 16
"""Channels of the layer that tells a network's width, in the published one, and the most widths."""


@dataclass(frozen=True)
class Network:
    """A network that is a Triton model of its own.

    Attributes:
        name: Name of the model, and of the module that defines the network.
        build: Makes the network, without weights, for plate formats and as wide as the given
            weights are; imports PyTorch, which takes seconds.
        weights: Name of its file in a folder of weights; empty for a step. The detector's file may
            be a TorchScript archive, see `detectors`.
        dtype: Type of its input, by its name in NumPy and PyTorch.
        dims: Shape of its input, the batch first; -1: any.
        example: Shape of an input to trace it with.
        outputs: Names of its outputs, in order.
        answers_on_cpu: Its caller works on the answers on the CPU, so Triton writes them there.
        is_quick: One instance is enough for any number of callers.
        bears_bfloat16: It is as accurate in bfloat16, in which it was trained.
    """

    name: str
    build: Callable[[Formats, Mapping[str, Tensor]], nn.Module]
    weights: str
    dtype: str
    dims: tuple[int, ...]
    example: tuple[int, ...]
    outputs: tuple[str, ...] = (OUTPUT,)
    answers_on_cpu: bool = False
    is_quick: bool = False
    bears_bfloat16: bool = False


def _width(bias: Tensor | None) -> int:
    """Return the width of a network by the bias of a layer that is wider in a wider one."""
    width = len(bias) // CHANNELS if bias is not None and bias.ndim else 1
    return min(max(width, 1), MAX_WIDTH)


def _yolo(formats: Formats, state: Mapping[str, Tensor]) -> nn.Module:
    from orchestrator.networks.yolo import Yolo

    return Yolo()


def _stn(formats: Formats, state: Mapping[str, Tensor]) -> nn.Module:
    from orchestrator.networks.stn import STN

    return STN(_width(state.get("localization.0.bias")))


def _lprnet(formats: Formats, state: Mapping[str, Tensor]) -> nn.Module:
    """Make LPRNet, or two of them if the weights are those of two."""
    from orchestrator.networks.lprnet import LPRNet
    from orchestrator.networks.two_readers import ABROAD, HOME, TwoReaders, select_part

    def build(part: Mapping[str, Tensor], classes: int) -> LPRNet:
        return LPRNet(classes, width=_width(part.get("backbone.4.block.0.bias")))

    home, abroad = select_part(state, HOME), select_part(state, ABROAD)
    if not home:
        return build(state, formats.classes)
    home_classes = home["container.bias"].numel() if "container.bias" in home else 0
    readers = build(home, home_classes), build(abroad, formats.classes)
    return TwoReaders(*readers, len(formats.signs))


def _crop_preparation(formats: Formats, state: Mapping[str, Tensor]) -> nn.Module:
    from orchestrator.networks.plate_reader_prepare import CropPreparation

    return CropPreparation()


NETWORKS = {
    network.name: network
    for network in (
        Network(
            name=DETECTOR,
            build=_yolo,
            weights="yolo.pt",
            dtype="uint8",
            dims=(-1, -1, -1, 3),
            example=(1, 96, 160, 3),
            answers_on_cpu=True,
        ),
        Network(
            name=RECTIFIER,
            build=_stn,
            weights="stn.pth",
            dtype="float32",
            dims=(-1, 3, 24, 94),
            example=(2, 3, 24, 94),
            outputs=(OUTPUT, THETA),
            is_quick=True,
        ),
        Network(
            name=READER,
            build=_lprnet,
            weights="lprnet.pth",
            dtype="float32",
            dims=(-1, 3, 24, 94),
            example=(2, 3, 24, 94),
            answers_on_cpu=True,
            bears_bfloat16=True,
        ),
    )
}

STEPS = {
    PREPARE: Network(
        name=PREPARE,
        build=_crop_preparation,
        weights="",
        dtype="uint8",
        dims=(-1, -1, 3),
        example=(48, 188, 3),
        is_quick=True,
    )
}
EXPORTED = NETWORKS | STEPS
"""All networks and steps, each of which is exported to a file of its own."""


def choose_engine(name: str, weights: Path, engine: Engine) -> Engine:
    """Return the engine of a network or step, given the engine of the others.

    A step and a foreign detector are always TorchScript. Only the detector gains by float16.

    Args:
        name: Name of the network or step.
        weights: Folder of the weights.
        engine: The engine of the others; not `auto`.
    """
    file = EXPORTED[name].weights
    if not file or (name == DETECTOR and is_archive(weights / file)):
        return Engine.TORCHSCRIPT
    is_float32 = engine is Engine.TORCHSCRIPT_FP16 and name != DETECTOR
    return Engine.TORCHSCRIPT if is_float32 else engine


def is_archive(path: Path) -> bool:
    """Tell whether a file is a TorchScript archive; nothing in it is run or unpickled.

    A state dict is also a zip file, or a bare pickle. Only TorchScript has a member for constants.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            return any(name.endswith("/constants.pkl") for name in archive.namelist())
    except (OSError, zipfile.BadZipFile):  # loading it gives the error
        return False
