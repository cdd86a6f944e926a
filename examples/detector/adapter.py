"""Adapts a detector in the format of ultralytics to that of the service: docs/detectors.md."""

import torch
import torch.nn.functional as F  # noqa: N812 - the name everybody knows
from torch import Tensor, nn


class Adapter(nn.Module):
    """uint8 [B, H, W, 3] BGR in, float32 [B, K, 6] out: x0 y0 x1 y1 in pixels, score, class.

    Args:
        theirs: Their network. Its input is float32 [1, 3, H, W] RGB in [0, 1]. Its output is [1, 4
            + classes, N]: centre, size and scores. If it selects the boxes itself (`nms`, end to
            end), its output has rows [1, N, 6] like ours.
        size_hw: The only input size that it accepts; (0, 0) if it accepts any.
        most: K, unless their network has fewer.
    """

    def __init__(self, theirs: nn.Module, size_hw: tuple[int, int] = (0, 0), most: int = 300):
        super().__init__()
        self.theirs, self.most = theirs, most
        self.height, self.width = size_hw

    def forward(self, pictures: Tensor) -> Tensor:
        planes, scale = pictures.flip(3).permute(0, 3, 1, 2).float() / 255, 1.0
        if self.height > 0:  # scale down if too large, then pad on the right and below
            height, width = planes.size(2), planes.size(3)
            scale = min(1.0, self.height / height, self.width / width)
            inner = [int(round(height * scale)), int(round(width * scale))]  # noqa: RUF046
            planes = F.interpolate(planes, inner, mode="bilinear", antialias=True)
            filling = [0, self.width - inner[1], 0, self.height - inner[0]]
            planes = F.pad(planes, filling, value=114 / 255)
        rows = torch.cat([self.theirs(plane) for plane in planes.split(1)])
        if rows.size(2) != 6:
            scores, classes = rows[:, 4:].max(1)
            best, index = scores.topk(min(self.most, scores.size(1)))
            boxes = rows.gather(2, index.unsqueeze(1).expand(-1, 4, -1)).transpose(1, 2)
            centre, half = boxes[..., :2], boxes[..., 2:] / 2
            score_class = torch.stack((best, classes.gather(1, index).float()), 2)
            rows = torch.cat((centre - half, centre + half, score_class), 2)
        return torch.cat((rows[..., :4] / scale, rows[..., 4:]), 2)
