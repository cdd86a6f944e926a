"""YOLOv5n: finds plates in letterboxed pictures, with boxes decoded inside the network.

Source: Jocher et al., YOLOv5 v7.0 (AGPL-3.0): the layout, the decoding and the names of the
    parameters, so weights trained with the `yolov5` package load strictly. The code here is our own
    and needs only torch.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

STRIDES = (8, 16, 32)
ANCHORS = 3
"""Number of anchors at each stride; their sizes come with the weights."""


class Conv(nn.Module):
    """Convolution, batch normalisation and SiLU; keeps the size when the stride is 1."""

    def __init__(self, channels_in: int, channels_out: int, kernel: int, stride: int = 1) -> None:
        super().__init__()
        padding = (kernel - 1) // 2
        self.conv = nn.Conv2d(channels_in, channels_out, kernel, stride, padding, bias=False)
        self.bn = nn.BatchNorm2d(channels_out, eps=1e-3, momentum=0.03)
        self.act = nn.SiLU(inplace=True)

    def forward(self, features: Tensor) -> Tensor:
        out: Tensor = self.act(self.bn(self.conv(features)))
        return out


class Stem(Conv):
    """The first convolution, which was trained on RGB in [0, 1], for uint8 (B, H, W, 3) BGR.

    Its weights include the change of colour order and range; freezing folds that in without cost.
    """

    def forward(self, features: Tensor) -> Tensor:
        weight = self.conv.weight.flip(1) / 255
        planes = features.permute(0, 3, 1, 2).to(weight.dtype)
        out: Tensor = self.act(self.bn(F.conv2d(planes, weight, None, [2, 2], [2, 2])))
        return out


class Bottleneck(nn.Module):
    """A 1x1 and a 3x3 convolution; with a shortcut, the input is added."""

    def __init__(self, channels: int, shortcut: bool) -> None:
        super().__init__()
        self.cv1 = Conv(channels, channels, 1)
        self.cv2 = Conv(channels, channels, 3)
        self.shortcut = shortcut

    def forward(self, features: Tensor) -> Tensor:
        out: Tensor = self.cv2(self.cv1(features))
        return features + out if self.shortcut else out


class C3(nn.Module):
    """Two half-width paths, one through bottlenecks, merged by a third convolution."""

    def __init__(
        self, channels_in: int, channels_out: int, depth: int, shortcut: bool = True
    ) -> None:
        super().__init__()
        inner = channels_out // 2
        self.cv1 = Conv(channels_in, inner, 1)
        self.cv2 = Conv(channels_in, inner, 1)
        self.cv3 = Conv(2 * inner, channels_out, 1)
        self.m = nn.Sequential(*(Bottleneck(inner, shortcut) for _ in range(depth)))

    def forward(self, features: Tensor) -> Tensor:
        out: Tensor = self.cv3(torch.cat((self.m(self.cv1(features)), self.cv2(features)), 1))
        return out


class SPPF(nn.Module):
    """Pyramid pooling: 5x5 maxima applied once, twice and three times, joined with the input."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.cv1 = Conv(channels, channels // 2, 1)
        self.cv2 = Conv(channels * 2, channels, 1)

    def forward(self, features: Tensor) -> Tensor:
        once = self.cv1(features)
        twice = F.max_pool2d(once, 5, 1, 2)
        thrice = F.max_pool2d(twice, 5, 1, 2)
        last = F.max_pool2d(thrice, 5, 1, 2)
        out: Tensor = self.cv2(torch.cat((once, twice, thrice, last), 1))
        return out


class Detect(nn.Module):
    """Heads at strides 8, 16 and 32, and the decoding of their predictions."""

    anchors: Tensor

    def __init__(self, classes: int, channels: tuple[int, int, int]) -> None:
        super().__init__()
        self.m = nn.ModuleList(nn.Conv2d(width, ANCHORS * (5 + classes), 1) for width in channels)
        self.register_buffer("anchors", torch.ones(len(STRIDES), ANCHORS, 2))  # in strides

    def forward(self, levels: list[Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        """Run the heads.

        Args:
            levels: Features (B, C, H / stride, W / stride) for the three strides.

        Returns:
            Logits (B, ANCHORS, 5 + classes, cells) float32 of every anchor of every cell. Cells
            come row by row, stride 8 first. They lie side by side in memory, so that a processor
            computes many at once.

            Cells (cells, 3) float32: x, y and stride in pixels.

            Anchors (3, ANCHORS, 2) float32: width and height at the three strides, in pixels.
        """
        logits: list[Tensor] = []
        cells: list[Tensor] = []
        anchors: list[Tensor] = []
        for index, head in enumerate(self.m):
            grid = head(levels[index])
            batch, height, width = grid.size(0), grid.size(2), grid.size(3)
            logits.append(grid.view(batch, self.anchors.size(1), -1, height * width).float())
            cells.append(list_cells(height, width, 8 << index, grid.device))
            anchors.append(self.anchors[index].float() * (8 << index))
        return torch.cat(logits, 3), torch.cat(cells), torch.stack(anchors)


def list_cells(height: int, width: int, stride: int, device: torch.device) -> Tensor:
    """Return x, y and stride (cells, 3) of a grid's cells, in pixels, row by row.

    Freezing turns a parameter's device into a constant, so the device comes from a feature.
    """
    y = torch.arange(height, device=device).repeat_interleave(width)
    x = torch.arange(width, device=device).repeat(height)
    return torch.stack((x, y, torch.ones_like(x)), 1).float() * stride


def priors_of(cells: Tensor, anchors: Tensor, numbers: Tensor) -> Tensor:
    """Return the position of cells and the size of an anchor of each, in pixels.

    Args:
        cells: (..., 3), as from `Detect`.
        anchors: (3, ANCHORS, 2), as from `Detect`.
        numbers: (...) int64, the number of each cell's anchor.

    Returns:
        (..., 5): x, y and stride of the cell, width and height of the anchor.
    """
    level = (cells[..., 2] > 8).long() + (cells[..., 2] > 16).long()
    return torch.cat((cells, anchors.flatten(0, 1)[level * anchors.size(1) + numbers]), -1)


def all_priors(cells: Tensor, anchors: Tensor) -> Tensor:
    """Return the priors (ANCHORS, cells, 5) of every anchor of cells (cells, 3)."""
    count = anchors.size(1)
    every = torch.arange(count, device=cells.device).unsqueeze(1).expand(-1, cells.size(0))
    return priors_of(cells.expand(count, -1, -1), anchors, every)


def decode_boxes(logits: Tensor, priors: Tensor) -> Tensor:
    """Turn offsets within cells and fractions of anchors into pixels.

    Args:
        logits: (..., 5 + classes).
        priors: (..., 5), see `priors_of`.

    Returns:
        (..., 5 + classes): box centre and size in pixels, objectness and class probabilities.
    """
    probs = logits.sigmoid()
    centre = priors[..., :2] + (probs[..., :2] * 2 - 0.5) * priors[..., 2:3]
    size = (probs[..., 2:4] * 2) ** 2 * priors[..., 3:5]
    return torch.cat((centre, size, probs[..., 4:]), -1)


class Yolo(nn.Module):
    """Plate detector.

    Input: uint8 (B, H, W, 3) letterboxed BGR pictures, H and W multiples of 32.
    Output: float32 (B, K, 6): x0 y0 x1 y1 in letterbox pixels, score, class; best score first,
    before non-maximum suppression. Each cell answers with the best of its anchors, so one plate
    takes a few rows, not dozens. A picture of fewer than K cells gets rows of score 0.

    Args:
        classes: Kinds of objects.
        max_candidates: K, the rows of the answer.
    """

    def __init__(self, classes: int = 1, max_candidates: int = 300) -> None:
        super().__init__()
        self.max_candidates = max_candidates
        self.model = nn.ModuleList(
            (
                nn.Sequential(),  # 0 is set below: the only even kernel
                Conv(16, 32, 3, 2),
                C3(32, 32, 1),
                Conv(32, 64, 3, 2),
                C3(64, 64, 2),  # 4: stride 8
                Conv(64, 128, 3, 2),
                C3(128, 128, 3),  # 6: stride 16
                Conv(128, 256, 3, 2),
                C3(256, 256, 1),
                SPPF(256),  # 9: stride 32
                Conv(256, 128, 1),  # 10: down the pyramid
                nn.Identity(),  # 11, 12, 15, 16, 19, 22: up-sampling and joining, in `features`
                nn.Identity(),
                C3(256, 128, 1, False),
                Conv(128, 64, 1),
                nn.Identity(),
                nn.Identity(),
                C3(128, 64, 1, False),  # 17: small plates
                Conv(64, 64, 3, 2),  # 18: and up again
                nn.Identity(),
                C3(128, 128, 1, False),  # 20: medium
                Conv(128, 128, 3, 2),
                nn.Identity(),
                C3(256, 256, 1, False),  # 23: large
                Detect(classes, (64, 128, 256)),
            )
        )
        self.model[0] = Stem(3, 16, 6, 2)

    def to_float16(self) -> "Yolo":
        """Turn the weights into float16 with channels last, and return the network.

        A GPU multiplies that fastest. Boxes are still decoded in float32.
        """
        detect = self.model[-1]
        anchors = detect.anchors
        self.half().to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        detect.anchors = anchors
        return self

    def forward(self, pictures: Tensor) -> Tensor:
        logits, cells, anchors = self.heads(pictures)
        probs = logits[:, :, 4:5].sigmoid() * logits[:, :, 5:].sigmoid()
        scores, best_anchors = probs.amax(2).max(1)
        padded = F.pad(scores, [0, self.max_candidates])
        best_scores, best_cells = padded.topk(self.max_candidates, 1)
        best_cells = best_cells.clamp(max=scores.size(1) - 1)
        anchor_numbers = best_anchors.gather(1, best_cells)
        rows = (anchor_numbers * scores.size(1) + best_cells).unsqueeze(1)
        rows = rows.expand(-1, logits.size(2), -1)
        best_logits = logits.transpose(1, 2).flatten(2).gather(2, rows).transpose(1, 2)
        boxes = decode_boxes(best_logits, priors_of(cells[best_cells], anchors, anchor_numbers))
        centre, half, classes = boxes[..., :2], boxes[..., 2:4] / 2, boxes[..., 5:].argmax(2)
        score_class = torch.stack((best_scores, classes.float()), 2)
        return torch.cat((centre - half, centre + half, score_class), 2)

    def candidates(self, pictures: Tensor) -> Tensor:
        """Decode every anchor of every cell.

        Args:
            pictures: uint8 (B, H, W, 3) BGR.

        Returns:
            (B, ANCHORS, cells, 5 + classes) float32, see `decode_boxes`.
        """
        logits, cells, anchors = self.heads(pictures)
        return decode_boxes(logits.transpose(2, 3), all_priors(cells, anchors))

    def heads(self, pictures: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return logits of every anchor of every cell, the cells and the anchors, see `Detect`."""
        out: tuple[Tensor, Tensor, Tensor] = self.model[24](self.features(pictures))
        return out

    def features(self, pictures: Tensor) -> list[Tensor]:
        """Run the backbone, then go down and up the pyramid.

        Args:
            pictures: uint8 (B, H, W, 3) BGR.

        Returns:
            Features (B, 64, H / 8, W / 8), (B, 128, H / 16, W / 16), (B, 256, H / 32, W / 32).
        """
        stride4 = self.model[2](self.model[1](self.model[0](pictures)))
        stride8 = self.model[4](self.model[3](stride4))
        stride16 = self.model[6](self.model[5](stride8))
        stride32 = self.model[9](self.model[8](self.model[7](stride16)))
        top = self.model[10](stride32)
        middle = self.model[14](self.model[13](torch.cat((upsample(top), stride16), 1)))
        small = self.model[17](torch.cat((upsample(middle), stride8), 1))
        medium = self.model[20](torch.cat((self.model[18](small), middle), 1))
        large = self.model[23](torch.cat((self.model[21](medium), top), 1))
        return [small, medium, large]


def upsample(features: Tensor) -> Tensor:
    """Repeat every pixel of (B, C, H, W) twice both ways."""
    return F.interpolate(features, scale_factor=2.0, mode="nearest")
