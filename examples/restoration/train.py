"""Write the files of the model repository: two steps, and two networks that are trained first.

Example:
    python -m examples.restoration.train
"""

import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - the name everybody knows
from torch import Tensor, nn

from examples.restoration.modules import Finish, Prepare, Sharpener
from examples.restoration.pictures import Pair, render_pair
from orchestrator.formats.plate_formats import russian
from orchestrator.imaging.files import Bgr
from orchestrator.networks.export import load
from orchestrator.reading.crops import crop_boxes, resize_crop

REPOSITORY = Path(__file__).with_name("model_repository")
NETWORKS = {"sharpen_small": (24, 3), "sharpen_large": (32, 5)}
"""Width and number of blocks of each network."""
STEPS, BATCH, SEED, READING = 1200, 16, 0, 0.02
"""Number of training steps, plates of each, seed of the pictures, and weight of reading in the
loss."""


def path_of(name: str) -> Path:
    return REPOSITORY / name / "1" / "model.pt"


def write(model: nn.Module, name: str) -> None:
    """Script a module instead of tracing it: a trace is valid only for the size of its example."""
    torch.jit.save(torch.jit.script(model.eval()), path_of(name))


def load_reader() -> nn.Sequential:
    """Return the service's own STN and LPRNet, which are not trained here."""
    return nn.Sequential(load("stn"), load("lprnet")).requires_grad_(False)


def reading_loss(restored: Tensor, pairs: Sequence[Pair], reader: nn.Sequential) -> Tensor:
    """Return the CTC loss per character for plates, float32 [B, 3, 64, 192] in [-1, 1]."""
    straight, _ = reader[0](torch.cat([*map(crop, restored, pairs)]))
    probs = reader[1](straight).log_softmax(1).permute(2, 0, 1)
    alphabet = russian().alphabet
    texts = torch.tensor([alphabet.index(char) for pair in pairs for char in pair.text])
    lengths = torch.tensor([len(pair.text) for pair in pairs])
    columns = torch.full((len(pairs),), len(probs))
    return F.ctc_loss(probs, texts, columns, lengths, len(alphabet), zero_infinity=True)


def crop(restored: Tensor, pair: Pair) -> Tensor:
    """Cut a plate out as the service does, but differentiably."""
    x0, y0, x1, y1 = crop_boxes(pair.sharp, pair.xyxy[None])[0]
    small: Tensor = resize_crop(restored[:, y0:y1, x0:x1].permute(1, 2, 0))
    return small.clamp(-1, 1) * (127.5 / 128)


def stack(pictures: Sequence[Bgr]) -> Tensor:
    return torch.cat([Prepare()(torch.from_numpy(picture)) for picture in pictures])


def train(name: str) -> None:
    """Fit by the mean absolute difference and by the reading loss, in one cycle of Adam."""
    torch.manual_seed(SEED)
    rng = np.random.default_rng([SEED, 1])  # the test pictures have other seeds
    network, reader = Sharpener(*NETWORKS[name]), load_reader()
    optimizer = torch.optim.Adam(network.parameters())
    rate = torch.optim.lr_scheduler.OneCycleLR(optimizer, 2e-3, total_steps=STEPS)
    for step in range(1, STEPS + 1):
        pairs = [render_pair(rng) for _ in range(BATCH)]
        restored = network(stack([pair.blurred for pair in pairs]))
        unlike = F.l1_loss(restored, stack([pair.sharp for pair in pairs]))
        unread = reading_loss(restored, pairs, reader)
        optimizer.zero_grad()
        (unlike + READING * unread).backward()
        optimizer.step()
        rate.step()
        if step % 100 == 0:
            print(f"{name}: step {step}, likeness {unlike:.4f}, reading {unread:.3f}", flush=True)
    write(network, name)


def main() -> None:
    warnings.simplefilter("ignore", DeprecationWarning)  # TorchScript is what Triton serves best
    write(Prepare(), "prepare")
    write(Finish(), "finish")
    for name in NETWORKS:
        train(name)


if __name__ == "__main__":
    main()
