"""The models that Triton serves here: two steps and two networks, written for TorchScript."""

import torch
import torch.nn.functional as F  # noqa: N812 - the name everybody knows
from torch import Tensor, nn


class Prepare(nn.Module):
    """Prepares a picture, uint8 [H, W, 3] BGR: float32 [1, 3, H, W] RGB in [-1, 1]."""

    def forward(self, picture: Tensor) -> Tensor:
        if picture.numel() == 0:
            raise RuntimeError("picture: wanted pixels, got none")
        return picture.flip(2).permute(2, 0, 1)[None].float() / 127.5 - 1


class Finish(nn.Module):
    """The inverse of `Prepare`: float32 [1, 3, H, W] RGB, of any range, to uint8 [H, W, 3] BGR."""

    def forward(self, net: Tensor) -> Tensor:
        levels = ((net[0] + 1) * 127.5).round().clamp(0, 255)
        return levels.to(torch.uint8).permute(1, 2, 0).flip(2)


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(width, width, 3, padding=1)
        self.second = nn.Conv2d(width, width, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        change: Tensor = self.second(F.relu(self.first(x)))
        return x + change


class Sharpener(nn.Module):
    """Residual blocks at half the resolution, added to the input; untrained, they add nothing.

    Input and output: float32 [B, 3, H, W] RGB in [-1, 1], any H and W.
    """

    def __init__(self, width: int, blocks: int) -> None:
        super().__init__()
        self.head = nn.Conv2d(12, width, 3, padding=1)
        self.body = nn.Sequential(*(Block(width) for _ in range(blocks)))
        self.tail = nn.Conv2d(width, 12, 3, padding=1)
        nn.init.zeros_(self.tail.weight)
        nn.init.zeros_(self.tail.bias)  # type: ignore[arg-type]  # there is one

    def forward(self, blurred: Tensor) -> Tensor:
        height, width = blurred.shape[2], blurred.shape[3]
        even = blurred
        if height % 2 == 1 or width % 2 == 1:  # a trace would always do the same as for its example
            even = F.pad(blurred, [0, width % 2, 0, height % 2], mode="replicate")
        change = self.tail(self.body(self.head(F.pixel_unshuffle(even, 2))))
        return blurred + F.pixel_shuffle(change, 2)[:, :, :height, :width]
