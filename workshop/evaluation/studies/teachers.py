"""The wide teacher of the reader's last training, as networks behind the shipped detector.

Its form is that of the program which trained it. The layers and their names are those of its file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - the name everybody knows

from orchestrator.arrays import Array
from orchestrator.networks.lprnet import LPRNet, unit_power
from orchestrator.networks.openvino_ir import allow_bfloat16
from orchestrator.networks.runs import Networks, Run, run_openvino
from orchestrator.networks.stn import STN
from workshop.training.reader.distillation import ResidualBlock

INNER = (96, 192, 192)


class Block(nn.Module):
    def __init__(self, channels: int, inner: int) -> None:
        super().__init__()
        last = nn.BatchNorm2d(channels)
        self.block = nn.Sequential(
            nn.Conv2d(channels, inner, 1, bias=False), nn.BatchNorm2d(inner), nn.ReLU(),
            nn.Conv2d(inner, inner, 3, padding=1, bias=False), nn.BatchNorm2d(inner), nn.ReLU(),
            nn.Conv2d(inner, channels, 1, bias=False), last,
        )  # fmt: skip

    forward = ResidualBlock.forward


class Head(nn.Module):
    def __init__(self, classes: int, size: int = 256) -> None:
        super().__init__()
        self.join = nn.Conv2d(256, size, (16, 1))
        self.place = nn.Parameter(torch.zeros(1, 18, size))
        layer = nn.TransformerEncoderLayer(
            size, 4, 2 * size, 0.1, "gelu", batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(size)
        self.out = nn.Linear(size, classes)

    def forward(self, features: Tensor) -> Tensor:
        columns = self.join(features).squeeze(2).transpose(1, 2) + self.place
        read: Tensor = self.out(self.norm(self.layers(columns))).transpose(1, 2)
        return read


class Teacher(nn.Module):
    def __init__(self, classes: int, width: int) -> None:
        super().__init__()
        self.stn, self.lprnet = STN(2), LPRNet(classes, 0.1, width)
        self.after = nn.ModuleDict({
            "6": nn.Sequential(Block(128, INNER[0])),
            "10": nn.Sequential(Block(256, INNER[1])),
            "13": nn.Sequential(Block(256, INNER[2]), Block(256, INNER[2])),
        })  # fmt: skip
        self.beside = nn.Conv2d(256, 256, (1, 4), bias=False)
        self.head = Head(classes)

    def forward(self, straight: Tensor) -> Tensor:
        """Read straight crops."""
        contexts, features = [], straight
        wide = columns = straight
        for index, layer in enumerate(self.lprnet.backbone):
            features = layer(features)
            if str(index) in self.after:
                features = self.after[str(index)](features)
            if index in (2, 6):
                contexts.append(unit_power(F.avg_pool2d(features, [5, 5], [5, 5])))
            elif index == 13:
                contexts.append(unit_power(F.avg_pool2d(features, [4, 10], [4, 2])))
                wide = F.max_pool2d(features, [3, 3], [1, 2])
            elif index == 16:
                features = features + self.beside(wide)
            elif index == 18:
                columns = features
        contexts.append(unit_power(features))
        rows: Tensor = self.lprnet.container(torch.cat(contexts, dim=1)).mean(dim=2)
        read: Tensor = rows + self.head(columns)
        return read


def log_softmax(logits: Array) -> Array:
    shifted = logits - logits.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


@dataclass(frozen=True)
class TeacherNetworks:
    """The shipped detector with a teacher as the reader, alone or beside the shipped one."""

    shipped: Networks
    stn: Run
    lprnet: Run
    alone: bool

    @property
    def formats(self) -> Any:
        return self.shipped.formats

    def __call__(self, name: str, tensors: Mapping[str, Array]) -> dict[str, Array]:
        if name == "stn" and self.alone:
            return dict(zip(("output__0", "output__1"), self.stn(*tensors.values()), strict=True))
        if name != "lprnet":
            return self.shipped(name, tensors)
        (taught,) = self.lprnet(*tensors.values())
        if self.alone:
            return {"output__0": taught}
        (ours,) = self.shipped(name, tensors).values()
        mean = (log_softmax(np.asarray(taught)) + log_softmax(np.asarray(ours))) / 2
        is_numpy = isinstance(ours, np.ndarray)
        return {"output__0": mean if is_numpy else torch.from_numpy(mean)}


def load_teacher(path: Path, shipped: Networks) -> tuple[TeacherNetworks, TeacherNetworks]:
    """Return the teacher alone, with its own STN, and beside the shipped reader."""
    import openvino

    torch.backends.mha.set_fastpath_enabled(False)  # its operator cannot be converted
    held = torch.load(path, weights_only=True)
    teacher = Teacher(shipped.formats.classes, held["width"])
    teacher.load_state_dict(
        {k: v.float() if v.is_floating_point() else v for k, v in held["state"].items()}
    )
    teacher.eval()
    crops = torch.zeros(2, 3, 24, 94)
    dynamic = [-1, 3, 24, 94]
    stn, lprnet = (
        openvino.convert_model(network, example_input=crops, input=dynamic)
        for network in (teacher.stn, teacher)
    )
    allow_bfloat16(lprnet)
    runs = run_openvino(stn, 1), run_openvino(lprnet, 1)
    return TeacherNetworks(shipped, *runs, True), TeacherNetworks(shipped, *runs, False)
