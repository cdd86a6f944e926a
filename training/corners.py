"""Teaches STN where the corners of a plate are, before LPRNet learns from what it cuts out.

Left to the reading alone, and to corners beside it, STN's hidden units die early: it zooms all
crops the same and turns none. Taught first on rendered plates, it follows real ones, too.
"""

from __future__ import annotations

import logging

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - the name everybody knows

from orchestrator.frames import corners_of
from orchestrator.networks.stn import STN
from rendering.synth import Batch
from training.averages import average_weights
from training.pools import to_input, vary
from training.recipes import CornerSchedule
from training.runs import Progress

log = logging.getLogger(__name__)

ROOM = 1.03
"""Size of what STN is taught to cut out, in sizes of the plate."""


def corner_loss(theta: Tensor, corners: Tensor) -> Tensor:
    """Mean distance between where theta puts the corners of STN's output and the plate's.

    It makes STN zoom in on the plate, which gives LPRNet's 18 columns to the characters alone, and
    its theta tell where the plate is, with `ROOM` round it lest an error cut off a character.

    Args:
        theta: (B, 2, 3).
        corners: (B, 4, 2), -1 and 1 at the edges of the crop; plates with NaN do not count.
    """
    known = ~corners.isnan().flatten(1).any(1)
    if not known.any():
        return 0 * theta.sum()  # with a gradient, of nothing
    middle = corners[known].mean(dim=1, keepdim=True)
    wanted = middle + (corners[known] - middle) * ROOM
    return F.l1_loss(corners_of(theta[known]), wanted)


def teach_corners(stn: STN, plates: Batch, schedule: CornerSchedule, seed: int) -> None:
    """Train STN by the corners alone; it is left with the average of its weights.

    Args:
        stn: On any device, new or trained.
        plates: Crops whose corners are known.
        schedule: Length and pace.
        seed: Of the choice of crops and their variation.
    """
    torch.manual_seed(seed)
    device = next(stn.parameters()).device
    crops, corners = to_input(plates.crops).to(device), torch.from_numpy(plates.corners).to(device)
    optimizer = torch.optim.AdamW(stn.parameters(), weight_decay=1e-3)
    average = average_weights(stn, 0.995)
    progress = Progress(schedule.steps)
    for step in range(schedule.steps):
        for group in optimizer.param_groups:
            group["lr"] = schedule.rate_at(step)
        chosen = torch.randint(len(crops), (schedule.batch,), device=device)
        theta = stn.theta(vary(crops[chosen]))
        loss = corner_loss(theta, corners[chosen])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(stn.parameters(), 1.0)
        optimizer.step()
        average.update_parameters(stn)
        progress.tell(step + 1, loss.item())
    stn.load_state_dict(average.module.state_dict())
