"""Write the model repository's files: the two steps as they are, the two networks trained.

Example:
    python -m examples.restoration.train --steps 3000
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
import torch
from torch import nn

from examples.restoration.modules import Finish, Prepare, Sharpener, large, small
from examples.restoration.pictures import render_pair

REPOSITORY = Path(__file__).with_name("model_repository")
NETWORKS = {"sharpen_small": small, "sharpen_large": large}
STEPS = {"prepare": Prepare, "finish": Finish}
BATCH = 16
SEED = 20_000_000
"""Of the first training pair; the judged ones are rendered from other seeds."""


def write(model: nn.Module, name: str) -> None:
    """Script a module, not trace it: a trace holds for the size of its example."""
    path = REPOSITORY / name / "1" / "model.pt"
    path.parent.mkdir(parents=True, exist_ok=True)
    with warnings.catch_warnings():  # deprecated, yet what Triton's PyTorch backend takes
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.jit.save(torch.jit.script(model.eval()), path)


def batch(rng: np.random.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """Return blurred and sharp plates, float32 [16, 3, 64, 192] each."""
    pairs = [render_pair(rng) for _ in range(BATCH)]
    prepare = Prepare()
    blurred = torch.cat([prepare(torch.from_numpy(pair.blurred)) for pair in pairs])
    return blurred, torch.cat([prepare(torch.from_numpy(pair.sharp)) for pair in pairs])


def train(network: Sharpener, name: str, steps: int) -> None:
    """Fit by the mean absolute difference, one cycle of Adam; written every 250 steps."""
    rng = np.random.default_rng(SEED)
    optimizer = torch.optim.Adam(network.parameters())
    rate = torch.optim.lr_scheduler.OneCycleLR(optimizer, 2e-3, total_steps=steps)
    for step in range(1, steps + 1):
        blurred, sharp = batch(rng)
        loss = nn.functional.l1_loss(network.train()(blurred), sharp)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        rate.step()
        if step % 250 == 0 or step == steps:
            print(f"{name}: step {step} of {steps}, loss {loss.item():.4f}", flush=True)
            write(network, name)


def main() -> None:
    parser = argparse.ArgumentParser(description="Train and write the networks.")
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--only", choices=NETWORKS, help="one network instead of both")
    options = parser.parse_args()
    torch.manual_seed(0)
    for name, module in STEPS.items():
        write(module(), name)
    for name in [options.only] if options.only else NETWORKS:
        train(NETWORKS[name](), name, options.steps)


if __name__ == "__main__":
    main()
