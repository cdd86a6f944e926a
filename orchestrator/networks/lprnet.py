"""LPRNet: reads a rectified plate as one row of character logits, without segmentation.

Source: Zherzdev & Gruzdev 2018, "LPRNet: License Plate Recognition via Deep Neural Networks". The
layout and the names of the parameters are those of the widespread PyTorch implementation, so its
checkpoints load strictly.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - the name everybody knows


class SmallBasicBlock(nn.Module):
    """A bottleneck of 1x1, 3x1, 1x3 and 1x1 convolutions that keeps the size of its input."""

    def __init__(self, channels_in: int, channels_out: int, width: int = 1) -> None:
        super().__init__()
        inner = width * channels_out // 4
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


class ChannelStridePool(nn.Module):
    """3x3 max pooling of every n-th channel.

    The published network writes it as ``MaxPool3d((1, 3, 3), stride=(n, 1, s))`` over (channel,
    row, column). A kernel of one channel only selects channels. So dropping the other channels
    first gives the same numbers in a fraction of the time.
    """

    def __init__(self, channel_stride: int, column_stride: int) -> None:
        super().__init__()
        self.channel_stride = channel_stride
        self.column_stride = column_stride

    def forward(self, features: Tensor) -> Tensor:
        groups = features.unflatten(1, [-1, self.channel_stride])
        # Every n-th channel, without the copy that a strided slice may make.
        return F.max_pool2d(groups[:, :, 0], [3, 3], [1, self.column_stride])


class LPRNet(nn.Module):
    """Reader of a plate crop.

    Input: (B, 3, 24, 94) float32 RGB, ``(x - 127.5) / 128``.
    Output: (B, classes, 18) float32 logits, one column per time step of CTC.

    Args:
        classes: Characters of the alphabet, and the CTC blank, which is the last.
        dropout: Dropout during training.
        width: Factor for the channels within the basic blocks; 1 is the published network.
    """

    def __init__(self, classes: int, dropout: float = 0.5, width: int = 1) -> None:
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(3, 64, 3),  # 0
            nn.BatchNorm2d(64),
            nn.ReLU(),  # 2: 22 x 92
            ChannelStridePool(1, 1),
            SmallBasicBlock(64, 128, width),  # 4
            nn.BatchNorm2d(128),
            nn.ReLU(),  # 6: 20 x 90
            ChannelStridePool(2, 2),
            SmallBasicBlock(64, 256, width),  # 8
            nn.BatchNorm2d(256),
            nn.ReLU(),  # 10: 18 x 44
            SmallBasicBlock(256, 256, width),
            nn.BatchNorm2d(256),
            nn.ReLU(),  # 13: 18 x 44
            ChannelStridePool(4, 2),
            nn.Dropout(dropout),
            nn.Conv2d(64, 256, (1, 4)),  # 16
            nn.BatchNorm2d(256),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Conv2d(256, classes, (13, 1)),  # 20
            nn.BatchNorm2d(classes),
            nn.ReLU(),  # 22: 4 x 18
        )
        self.container = nn.Conv2d(64 + 128 + 256 + classes, classes, 1)

    def forward(self, crops: Tensor) -> Tensor:
        contexts: list[Tensor] = []
        features = crops
        for index, layer in enumerate(self.backbone):
            features = layer(features)
            if index == 2 or index == 6:
                contexts.append(unit_power(F.avg_pool2d(features, [5, 5], [5, 5])))
            elif index == 13:
                contexts.append(unit_power(F.avg_pool2d(features, [4, 10], [4, 2])))
        contexts.append(unit_power(features))
        rows: Tensor = self.container(torch.cat(contexts, dim=1))  # (B, classes, 4, 18)
        return rows.mean(dim=2)


def unit_power(features: Tensor) -> Tensor:
    """Divide each sample's features by the mean of their squares.

    Args:
        features: (B, C, H, W).

    Returns:
        The same shape. The widespread implementation takes the mean over the whole batch, so that a
        plate's reading depends on its neighbours. One mean for each sample gives the same for B =
        1.
    """
    power = (features * features).mean(dim=(1, 2, 3), keepdim=True)
    return features / power.clamp_min(1e-12)
