"""What the predecessor's networks spend on one picture: an eager YOLOv5s, STN and LPRNet.

    PYTHON benchmarks/predecessor.py --weights FOLDER

PYTHON has the package `yolov5`; FOLDER holds the predecessor's `stn.pth` and `lprnet.pth`. The
program says `ready` when it is warm. Then it reads the path of a picture a line, makes one pass and
prints the milliseconds of each stage as a line of JSON. `plates bench --predecessor` runs it.

Everything is as the predecessor has it: default threads, subnormal weights kept, the layers as
published. Nothing of the project is imported, because our own layers and settings are what it is
compared with. Only the networks count: reading the file, letterbox, crops and text are not timed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - the name everybody knows

DETECTOR_SIZE_WH = (1280, 736)
CROP_SIZE_WH = (94, 24)
PLATES = 4
WARM_UP_PASSES = 3


class STN(nn.Module):
    """Spatial transformer, (B, 3, 24, 94) to the same shape, as published."""

    def __init__(self) -> None:
        super().__init__()
        self.localization = nn.Sequential(
            nn.Conv2d(3, 32, 3),
            nn.MaxPool2d(2, 2),
            nn.ReLU(),
            nn.Conv2d(32, 32, 5),
            nn.MaxPool2d(3, 3),
            nn.ReLU(),
        )
        self.fc_loc = nn.Sequential(nn.Linear(32 * 14 * 2, 32), nn.ReLU(), nn.Linear(32, 6))

    def forward(self, crops: Tensor) -> Tensor:
        theta = self.fc_loc(self.localization(crops).view(-1, 32 * 14 * 2)).view(-1, 2, 3)
        grid = F.affine_grid(theta, list(crops.size()), align_corners=False)
        return F.grid_sample(crops, grid, align_corners=False)


class SmallBasicBlock(nn.Module):
    def __init__(self, channels_in: int, channels_out: int) -> None:
        super().__init__()
        inner = channels_out // 4
        self.block = nn.Sequential(
            nn.Conv2d(channels_in, inner, 1),
            nn.ReLU(),
            nn.Conv2d(inner, inner, (3, 1), padding=(1, 0)),
            nn.ReLU(),
            nn.Conv2d(inner, inner, (1, 3), padding=(0, 1)),
            nn.ReLU(),
            nn.Conv2d(inner, channels_out, 1),
        )

    def forward(self, features: Tensor) -> Tensor:
        out: Tensor = self.block(features)
        return out


class LPRNet(nn.Module):
    """Reader, (B, 3, 24, 94) to (B, classes, 18), as published: 3-d pooling over the channels.

    A 4-d input of `MaxPool3d` is one sample with B channels; its depth is our channels.
    """

    KEPT = (2, 6, 13, 22)

    def __init__(self, classes: int = 23) -> None:
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(3, 64, 3),  # 0
            nn.BatchNorm2d(64),
            nn.ReLU(),  # 2
            nn.MaxPool3d((1, 3, 3), stride=(1, 1, 1)),
            SmallBasicBlock(64, 128),  # 4
            nn.BatchNorm2d(128),
            nn.ReLU(),  # 6
            nn.MaxPool3d((1, 3, 3), stride=(2, 1, 2)),
            SmallBasicBlock(64, 256),  # 8
            nn.BatchNorm2d(256),
            nn.ReLU(),
            SmallBasicBlock(256, 256),  # 11
            nn.BatchNorm2d(256),
            nn.ReLU(),  # 13
            nn.MaxPool3d((1, 3, 3), stride=(4, 1, 2)),
            nn.Dropout(0.5),
            nn.Conv2d(64, 256, (1, 4)),  # 16
            nn.BatchNorm2d(256),
            nn.ReLU(),
            nn.Dropout(0.5),
            nn.Conv2d(256, classes, (13, 1)),  # 20
            nn.BatchNorm2d(classes),
            nn.ReLU(),  # 22
        )
        self.container = nn.Conv2d(64 + 128 + 256 + classes, classes, 1)

    def forward(self, crops: Tensor) -> Tensor:
        features, kept = crops, []
        for index, layer in enumerate(self.backbone):
            features = layer(features)
            if index in self.KEPT:
                kept.append(features)
        contexts = [
            F.avg_pool2d(kept[0], 5, 5),
            F.avg_pool2d(kept[1], 5, 5),
            F.avg_pool2d(kept[2], (4, 10), (4, 2)),
            kept[3],
        ]
        scaled = [context / torch.mean(torch.pow(context, 2)) for context in contexts]
        logits: Tensor = self.container(torch.cat(scaled, 1)).mean(dim=2)
        return logits


def detector() -> Any:
    """Return the package's YOLOv5s with random weights, which cost what trained ones do."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the package is older than what it imports
        import yolov5
        from yolov5.models.yolo import Model

        network = Model(Path(yolov5.__file__).parent / "models" / "yolov5s.yaml", ch=3, nc=1)
        return network.fuse().eval()


def restored(network: nn.Module, path: Path) -> nn.Module:
    """Return a network with the checkpoint's weights, subnormal ones too."""
    state = torch.load(path, map_location="cpu", weights_only=True)
    network.load_state_dict(state.get("net_state_dict", state))
    return network.eval()


def inputs_of(path: Path) -> tuple[Tensor, Tensor]:
    """Return the detector's picture (1, 3, 736, 1280) and four crops (4, 3, 24, 94) of a file.

    The picture is stretched and the crops are its quarters: time does not depend on what they show.
    """
    bgr = cv2.imread(str(path))
    if bgr is None:
        raise SystemExit(f"{path}: wanted a picture, got none that can be read")
    rgb = cv2.cvtColor(bgr, cv2.COLOR_BGR2RGB)
    rows = [quarter for half in np.array_split(rgb, 2) for quarter in np.array_split(half, 2, 1)]
    crops = np.stack([cv2.resize(row, CROP_SIZE_WH) for row in rows[:PLATES]])
    net = cv2.resize(rgb, DETECTOR_SIZE_WH)[None]
    return (
        torch.from_numpy(net).permute(0, 3, 1, 2).contiguous().float() / 255,
        (torch.from_numpy(crops).permute(0, 3, 1, 2).contiguous().float() - 127.5) / 128,
    )


@torch.inference_mode()
def one_pass(networks: dict[str, Any], net: Tensor, crops: Tensor) -> dict[str, float]:
    """Run each network once; return milliseconds."""
    _, detector_ms = timed(lambda: networks["detector"](net))
    straight, stn_ms = timed(lambda: networks["stn"](crops))
    _, lprnet_ms = timed(lambda: networks["lprnet"](straight))
    return {"detector": detector_ms, "stn": stn_ms, "lprnet": lprnet_ms}


def timed(run: Callable[[], Tensor]) -> tuple[Tensor, float]:
    began = time.perf_counter()
    result = run()
    return result, 1e3 * (time.perf_counter() - began)


def main() -> None:
    """Answer the pictures on standard input until it ends."""
    parser = argparse.ArgumentParser(description="Time the predecessor on pictures.")
    parser.add_argument("--weights", type=Path, required=True, help="folder of the checkpoints")
    weights = parser.parse_args().weights
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # whatever a library prints must not look like an answer
    networks = {
        "detector": detector(),
        "stn": restored(STN(), weights / "stn.pth"),
        "lprnet": restored(LPRNet(), weights / "lprnet.pth"),
    }
    width, height = DETECTOR_SIZE_WH
    for _ in range(WARM_UP_PASSES):
        one_pass(networks, torch.zeros(1, 3, height, width), torch.zeros(PLATES, 3, 24, 94))
    answers.write("ready\n")
    for line in sys.stdin:
        answers.write(json.dumps(one_pass(networks, *inputs_of(Path(line.strip())))) + "\n")


if __name__ == "__main__":
    main()
