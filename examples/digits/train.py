"""Train the classifier on the digits of scikit-learn and write what Triton serves.

Example:
    python -m examples.digits.train
"""

import warnings
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - the name everybody knows
from torch import Tensor, nn

from examples.digits.pictures import to_net
from examples.digits.samples import Samples, load_samples

MODEL = Path(__file__).with_name("model_repository") / "digits_classifier" / "1" / "model.pt"
EPOCHS, BATCH = 60, 64


class Classifier(nn.Module):
    """float32 [B, 28, 28, 1] in [0, 1] to the probabilities of ten digits, [B, 10]."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(1, 16, 5, stride=2, padding=2)
        self.second = nn.Conv2d(16, 32, 5, stride=2, padding=2)
        self.last = nn.Linear(32 * 7 * 7, 10)

    def logits(self, digits: Tensor) -> Tensor:
        x = F.relu(self.first(digits.permute(0, 3, 1, 2)))
        x = F.relu(self.second(x)).flatten(1)
        return self.last(F.dropout(x, 0.5, self.training))

    def forward(self, digits: Tensor) -> Tensor:
        return self.logits(digits).softmax(1)


def jitter(digits: Tensor) -> Tensor:
    """Turn, shear, scale and shift each digit a little: [B, 28, 28, 1] to the same shape."""
    theta = torch.eye(2, 3).expand(len(digits), 2, 3) + 0.1 * torch.randn(len(digits), 2, 3)
    planes = digits.permute(0, 3, 1, 2)
    grid = F.affine_grid(theta, list(planes.shape), align_corners=False)
    return F.grid_sample(planes, grid, align_corners=False).permute(0, 2, 3, 1)


def train(digits: Tensor, classes: Tensor) -> Classifier:
    """Fit by cross-entropy, one cycle of Adam."""
    network, steps = Classifier(), EPOCHS * (len(digits) // BATCH)
    optimizer = torch.optim.Adam(network.parameters())
    rate = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=steps)
    for _ in range(EPOCHS):
        order = torch.randperm(len(digits))[: len(digits) // BATCH * BATCH]
        for rows in order.split(BATCH):
            loss = F.cross_entropy(network.logits(jitter(digits[rows])), classes[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            rate.step()
    return network.eval()


def digits_of(samples: Samples) -> Tensor:
    """Take the digits the way that requests go, from files: [N, 28, 28, 1]."""
    return torch.from_numpy(np.stack([to_net(file) for file in samples.files()]))


def main() -> None:
    torch.manual_seed(0)
    samples, held_out = load_samples()
    network = train(digits_of(samples), torch.from_numpy(samples.classes))
    right = network(digits_of(held_out)).argmax(1) == torch.from_numpy(held_out.classes)
    print(f"{right.sum().item()} of {len(right)} held-out digits are right")
    with warnings.catch_warnings():  # deprecated, yet what Triton's PyTorch backend takes
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.jit.save(torch.jit.script(network), MODEL)


if __name__ == "__main__":
    main()
