"""Pretraining of STN on the corners of plates, before LPRNet learns from its output.

Without it, STN's hidden units die early, even with a corner loss beside the reading loss. STN then
zooms all crops in the same way and turns none. After pretraining on rendered plates, it also
follows real plates.
"""

from __future__ import annotations

import logging

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - the name everybody knows

from orchestrator.networks.stn import STN
from orchestrator.reading.affine_crops import SQUARE
from workshop.rendering.samples.synth import Batch
from workshop.training.optimization import average_weights
from workshop.training.reader.reader_recipe import CornerSchedule
from workshop.training.reader.sample_pools import Draw, to_input, vary
from workshop.training.runs import Progress

log = logging.getLogger(__name__)

ROOM = 1.03
"""Size of STN's target area, in sizes of the plate."""


def corner_loss(theta: Tensor, corners: Tensor) -> Tensor:
    """Return the mean distance between the corners of STN's output and those of the plate.

    The loss makes STN zoom in on the plate. LPRNet's 18 columns then hold characters only, and
    theta tells the plate's position. The factor `ROOM` keeps errors from cutting off characters.

    Args:
        theta: (B, 2, 3).
        corners: (B, 4, 2), -1 and 1 at the edges of the crop; plates with NaN do not count.
    """
    are_known = ~corners.isnan().flatten(1).any(1)
    if not are_known.any():
        return 0 * theta.sum()  # zero, but with a gradient
    middle = corners[are_known].mean(dim=1, keepdim=True)
    target = middle + (corners[are_known] - middle) * ROOM
    square = torch.from_numpy(SQUARE).to(theta.device)
    return F.l1_loss(square @ theta[are_known].mT, target)


def teach_corners(stn: STN, plates: Batch, schedule: CornerSchedule, seed: int) -> None:
    """Train STN on the corners only; at the end it gets the average of its weights.

    Args:
        stn: A new or a trained STN, on any device.
        plates: Crops with known corners.
        schedule: Length and learning rate.
        seed: Seed of the choice of crops and their variation.
    """
    torch.manual_seed(seed)
    device = next(stn.parameters()).device
    draw = Draw.of(plates, device)
    crops, corners = to_input(draw.crops), draw.corners
    optimizer = torch.optim.AdamW(stn.parameters(), weight_decay=1e-3)
    average = average_weights(stn, 0.995)
    progress = Progress(schedule.steps)
    for step in range(schedule.steps):
        for group in optimizer.param_groups:
            group["lr"] = schedule.rate_at(step)
        indices = torch.randint(len(crops), (schedule.batch,), device=device)
        theta = stn.theta(vary(crops[indices]))
        loss = corner_loss(theta, corners[indices])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(stn.parameters(), 1.0)
        optimizer.step()
        average.update_parameters(stn)
        progress.log(step + 1, loss.item())
    stn.load_state_dict(average.module.state_dict())
