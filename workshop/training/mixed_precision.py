"""Mixed precision of trainings.

Source: Kalamkar et al. 2019, "A Study of BFLOAT16 for Deep Learning Training".
"""

import torch

from orchestrator.networks.engines import has_bfloat16


def autocast(device: torch.device, *, enabled: bool = True) -> torch.autocast:
    """Run networks in bfloat16 inside this context, on GPUs and on CPUs that multiply bfloat16.

    Other CPUs stay in float32: they emulate bfloat16, and a step takes twice as long.
    """
    is_quick = device.type != "cpu" or has_bfloat16()
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=enabled and is_quick)
