"""STN: a spatial transformer that straightens a plate crop before it is read.

Source: Jaderberg et al. 2015, "Spatial Transformer Networks".
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - the name everybody knows


class STN(nn.Module):
    """Spatial transformer with an affine transform.

    Input: (B, 3, 24, 94) float32 RGB, ``(x - 127.5) / 128``.
    Output: the rectified crops, of the same shape, and theta, (B, 2, 3) float32.

    Theta is the affine transform from the rectified crop to the input crop. Its coordinates run
    from -1 to 1, x first.

    Args:
        width: Channels of its layers, in units of 32.
    """

    centres: Tensor

    def __init__(self, width: int = 1) -> None:
        super().__init__()
        channels = 32 * width
        self.localization = nn.Sequential(
            nn.Conv2d(3, channels, 3),
            nn.MaxPool2d(2),
            nn.ReLU(),  # 11 x 46
            nn.Conv2d(channels, channels, 5),
            nn.MaxPool2d(3),
            nn.ReLU(),  # 2 x 14
        )
        self.fc_loc = nn.Sequential(
            nn.Linear(channels * 2 * 14, channels), nn.ReLU(), nn.Linear(channels, 6)
        )
        self.register_buffer("centres", pixel_centres(24, 94), persistent=False)
        self._start_as_identity()

    def forward(self, crops: Tensor) -> tuple[Tensor, Tensor]:
        theta = self.theta(crops)
        grid = (self.centres @ theta.transpose(1, 2)).view(-1, 24, 94, 2)
        rectified = F.grid_sample(
            crops, grid, mode="bilinear", padding_mode="zeros", align_corners=False
        )
        return rectified, theta

    def theta(self, crops: Tensor) -> Tensor:
        """Return the place of the plate in each crop, as theta: (B, 2, 3)."""
        features: Tensor = self.localization(crops)
        theta: Tensor = self.fc_loc(features.flatten(1))
        return theta.view(-1, 2, 3)

    @torch.no_grad()
    def _start_as_identity(self) -> None:
        for layer in (self.localization[0], self.localization[3], self.fc_loc[0]):
            assert isinstance(layer, nn.Conv2d | nn.Linear)
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
            nn.init.zeros_(layer.bias)  # type: ignore[arg-type]  # there is one
        last = self.fc_loc[2]
        assert isinstance(last, nn.Linear)
        last.weight.zero_()
        last.bias.copy_(torch.tensor([1.0, 0.0, 0.0, 0.0, 1.0, 0.0]))


def pixel_centres(height: int, width: int) -> Tensor:
    """Return each pixel's centre as x, y, 1 with the edges at -1 and 1: (height * width, 3).

    Multiplied by a theta it gives the result of `affine_grid`. It is written out because OpenVINO
    has no such operation.
    """
    y, x = ((torch.arange(side) * 2 + 1) / side - 1 for side in (height, width))
    rows, columns = torch.meshgrid(y, x, indexing="ij")
    return torch.stack((columns, rows, torch.ones_like(rows)), 2).flatten(0, 1)
