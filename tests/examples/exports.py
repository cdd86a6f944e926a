"""Exports in the format of ultralytics, made of our own detector, without that package."""

import json
from pathlib import Path

import torch
from torch import Tensor, nn

from orchestrator.networks.export import load
from orchestrator.networks.yolo import Yolo, all_priors, decode_boxes


class Export(nn.Module):
    """float32 [B, 3, H, W] RGB in [0, 1] -> [B, 4 + 1, N]: centre, size and score of every anchor.

    Args:
        yolo: The project's detector.
        size_hw: Fixed input size, whose anchors become constants. With None, any size is accepted.
    """

    def __init__(self, yolo: Yolo, size_hw: tuple[int, int] | None = None) -> None:
        super().__init__()
        self.yolo = yolo
        if size_hw:
            _, cells, anchors = yolo.heads(torch.zeros(1, *size_hw, 3).byte())
            self.register_buffer("priors", all_priors(cells, anchors))

    def forward(self, planes: Tensor) -> Tensor:
        pictures = (planes.flip(1) * 255).round().permute(0, 2, 3, 1)
        logits, cells, anchors = self.yolo.heads(pictures)
        priors = self.priors if hasattr(self, "priors") else all_priors(cells, anchors)
        boxes = decode_boxes(logits.transpose(2, 3), priors)
        boxes = boxes.flatten(1, 2)
        return torch.cat((boxes[..., :4], boxes[..., 4:5] * boxes[..., 5:]), 2).transpose(1, 2)


@torch.inference_mode()
def write_export(path: Path, size_hw: tuple[int, int] | None = None) -> Path:
    """Trace the network and save it with an export's metadata; for one input size, or any."""
    export = Export(load("yolo"), size_hw).eval()
    traced_export = torch.jit.trace(
        export, torch.rand(1, 3, *(size_hw or (96, 160))), check_trace=False
    )
    description = {"imgsz": size_hw or (640, 640), "batch": 1, "args": {"dynamic": size_hw is None}}
    torch.jit.save(traced_export, path, _extra_files={"config.txt": json.dumps(description)})
    return path
