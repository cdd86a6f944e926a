"""Write the model repository's files: the two steps as they are, the two networks trained.

Example:
    python -m examples.restoration.train
"""

import argparse
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - the name everybody knows
from torch import Tensor, nn

from examples.restoration.modules import Finish, Prepare, large, small
from examples.restoration.pictures import Pair, render_pair
from orchestrator.formats import russian
from orchestrator.images import READER_SIZE_WH, crop_boxes
from orchestrator.networks.export import load

REPOSITORY = Path(__file__).with_name("model_repository")
NETWORKS = {"sharpen_small": small, "sharpen_large": large}
BATCH, STEPS, SEED = 16, 2500, 20_000_000
READING = 0.05
"""Weight of the reading; by likeness alone pictures become smooth, and fewer plates are read."""


def write(model: nn.Module, name: str) -> None:
    """Script a module, not trace it: a trace holds for the size of its example."""
    path = REPOSITORY / name / "1" / "model.pt"
    with warnings.catch_warnings():  # deprecated, yet what Triton's PyTorch backend takes
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.jit.save(torch.jit.script(model.eval()), path)


class Reader(nn.Module):
    """The service's own STN and LPRNet, fixed: how badly they read what a network restored."""

    def __init__(self) -> None:
        super().__init__()
        self.alphabet = russian().alphabet
        self.networks = nn.Sequential(load("stn"), load("lprnet")).requires_grad_(False)

    def forward(self, restored: Tensor, pairs: Sequence[Pair]) -> Tensor:
        """Return the CTC loss a character of plates, float32 [B, 3, 64, 192] in [-1, 1]."""
        straight, _ = self.networks[0](torch.cat([*map(self._crop, restored, pairs)]))
        probs = self.networks[1](straight).log_softmax(1).permute(2, 0, 1)
        texts = torch.tensor([self.alphabet.index(char) for pair in pairs for char in pair.text])
        lengths = torch.tensor([len(pair.text) for pair in pairs])
        columns = torch.full((len(pairs),), len(probs))
        return F.ctc_loss(probs, texts, columns, lengths, len(self.alphabet), zero_infinity=True)

    def _crop(self, restored: Tensor, pair: Pair) -> Tensor:
        box = torch.from_numpy(pair.xyxy)[None]
        x0, y0, x1, y1 = crop_boxes(torch.from_numpy(pair.sharp), box)[0]
        cut = restored[None, :, y0:y1, x0:x1]
        crop = F.interpolate(cut, READER_SIZE_WH[::-1], mode="bicubic", antialias=True)
        return crop.clamp(-1, 1) * (127.5 / 128)


def stack(pictures: Sequence[np.ndarray]) -> Tensor:
    return torch.cat([Prepare()(torch.from_numpy(picture)) for picture in pictures])


def train(name: str) -> None:
    """Fit by the mean absolute difference and by the reading, one cycle of Adam."""
    torch.manual_seed(0)
    rng, network, reader = np.random.default_rng(SEED), NETWORKS[name](), Reader()
    optimizer = torch.optim.Adam(network.parameters())
    rate = torch.optim.lr_scheduler.OneCycleLR(optimizer, 2e-3, total_steps=STEPS)
    for step in range(1, STEPS + 1):
        pairs = [render_pair(rng) for _ in range(BATCH)]
        restored = network(stack([pair.blurred for pair in pairs]))
        unlike = F.l1_loss(restored, stack([pair.sharp for pair in pairs]))
        unread = reader(restored, pairs)
        optimizer.zero_grad()
        (unlike + READING * unread).backward()
        optimizer.step()
        rate.step()
        if step % 250 == 0:
            print(f"{name}: step {step}, likeness {unlike:.4f}, reading {unread:.3f}", flush=True)
            write(network, name)


def main() -> None:
    parser = argparse.ArgumentParser(description="Train and write the networks.")
    parser.add_argument("--only", choices=NETWORKS, help="one network instead of both")
    options = parser.parse_args()
    write(Prepare(), "prepare")
    write(Finish(), "finish")
    for name in [options.only] if options.only else NETWORKS:
        train(name)


if __name__ == "__main__":
    main()
