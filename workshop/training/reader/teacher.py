"""Teacher of the reader: a wider reader with more layers, which begins as the same function.

All layers that it adds change nothing at first: their last weights are zero. So it need not learn
to read again, and a run of minutes is enough to make it better than the reader that it teaches.

Source: Hinton et al. 2015, "Distilling the Knowledge in a Neural Network"; Chen et al. 2016,
"Net2Net"; Goyal et al. 2017, "Accurate, Large Minibatch SGD" (residual blocks that begin as zero).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - the name everybody knows

from workshop.training.reader.reader_trainer import Reader

CHANNELS = {6: 128, 10: 256, 13: 256}
"""Channels of LPRNet's features after the layers that a residual block follows."""
COLUMNS, FEATURES = 18, 256
"""Layer of LPRNet after which columns see each other, and the channels of its features."""
HEADS, COLUMNS_PER_CHARACTER = 4, 2


class ResidualBlock(nn.Module):
    """Bottleneck of convolutions that is added to features without negative values."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        inner = channels // 2
        last = nn.BatchNorm2d(channels)
        self.block = nn.Sequential(
            nn.Conv2d(channels, inner, 1, bias=False),
            nn.BatchNorm2d(inner),
            nn.ReLU(),
            nn.Conv2d(inner, inner, 3, padding=1, bias=False),
            nn.BatchNorm2d(inner),
            nn.ReLU(),
            nn.Conv2d(inner, channels, 1, bias=False),
            last,
        )
        nn.init.zeros_(last.weight)

    def forward(self, features: Tensor) -> Tensor:
        return F.relu(features + self.block(features))


class ColumnAttention(nn.Module):
    """Attention between the columns of a plate, added to features without negative values."""

    def __init__(self, channels: int, columns: int = 18) -> None:
        super().__init__()
        self.place = nn.Parameter(0.02 * torch.randn(columns, channels))
        self.norm = nn.LayerNorm(channels)
        self.attention = nn.MultiheadAttention(channels, HEADS, batch_first=True)
        self.out = nn.Linear(channels, channels)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def forward(self, features: Tensor) -> Tensor:
        """Add what the other columns say to each column: (B, channels, rows, columns)."""
        columns = self.norm(features.mean(dim=2).transpose(1, 2) + self.place)
        seen, _ = self.attention(columns, columns, columns, need_weights=False)
        added: Tensor = self.out(seen).transpose(1, 2).unsqueeze(2)
        return F.relu(features + added)


class Teacher(Reader):
    """The reader, wider, with residual blocks and attention between the columns."""

    def __init__(self, classes: int, dropout: float, width: int) -> None:
        super().__init__(classes, dropout, width)
        layers = self.lprnet.backbone
        for index, channels in CHANNELS.items():
            layers[index] = nn.Sequential(layers[index], ResidualBlock(channels))
        layers[COLUMNS] = nn.Sequential(layers[COLUMNS], ColumnAttention(FEATURES))


def column_distance(logits: Tensor, taught: Tensor) -> Tensor:
    """Return the divergence of the columns' classes from the teacher's, per character.

    Args:
        logits: (B, classes, columns) of the reader.
        taught: The same of the teacher.
    """
    wanted = taught.log_softmax(1)
    divergence = (wanted.exp() * (wanted - logits.log_softmax(1))).sum(dim=1)
    return COLUMNS_PER_CHARACTER * divergence.mean()
