"""Train the classifier and write the files for Triton: python -m examples.digits.train."""

import warnings
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - the name everybody knows
from torch import Tensor, nn

from examples.digits.pictures import to_net
from examples.digits.samples import LEARNT, load_samples

MODEL = Path(__file__).with_name("model_repository") / "digits_classifier" / "1" / "model.pt"
STEPS, BATCH = 1200, 64


class Classifier(nn.Module):
    """Classifier: float32 [B, 28, 28, 1] in [0, 1] to the probabilities of ten digits, [B, 10]."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(1, 16, 5, stride=2, padding=2)
        self.second = nn.Conv2d(16, 32, 5, stride=2, padding=2)
        self.last = nn.Linear(32 * 7 * 7, 10)

    def forward(self, digits: Tensor) -> Tensor:
        features = F.relu(self.second(F.relu(self.first(digits.permute(0, 3, 1, 2)))))
        return F.softmax(self.last(F.dropout(features.flatten(1), 0.5, self.training)), 1)


def jitter(digits: Tensor) -> Tensor:
    """Rotate, shear, scale and shift each digit a little: [B, 28, 28, 1] to the same shape."""
    theta = torch.eye(2, 3) + 0.1 * torch.randn(len(digits), 2, 3)
    planes = digits.permute(0, 3, 1, 2)
    grid = F.affine_grid(theta, list(planes.shape), align_corners=False)
    return F.grid_sample(planes, grid, align_corners=False).permute(0, 2, 3, 1)


def train() -> Classifier:
    """Fit by cross-entropy, one cycle of Adam, to digits prepared in the same way as requests."""
    files, targets = load_samples(LEARNT)
    digits, classes = torch.from_numpy(np.stack([*map(to_net, files)])), torch.from_numpy(targets)
    network = Classifier()
    optimizer = torch.optim.Adam(network.parameters())
    rate = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=STEPS)
    for _ in range(STEPS):
        rows = torch.randint(len(digits), (BATCH,))
        loss = F.nll_loss(network(jitter(digits[rows])).log(), classes[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        rate.step()
    return network.eval()


if __name__ == "__main__":
    torch.manual_seed(0)
    with warnings.catch_warnings():  # deprecated, but Triton's PyTorch backend uses it
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.jit.save(torch.jit.script(train()), MODEL)
