"""A reader of several countries that reads the home country's plates by a network of their own."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - the name everybody knows

from orchestrator.networks.lprnet import LPRNet

HOME, ABROAD = "home", "abroad"
"""The two readers, and the first part of the names of their weights."""
IMPOSSIBLE = -30.0
"""Logit of a character that the home country's plates never have."""
MIN_SIGN_SCORE = 0.8
"""Of 621 Russian plates, photos and rendered ones, the highest score was 0.48. Of 240 foreign
plates, two had less than 0.9."""


class TwoReaders(nn.Module):
    """LPRNet for the home country's plates, and another one for those of all countries.

    Plates of other countries bear a sign (docs/countries.md). A plate on which the second network
    sees one is read by it, and any other plate by the first. So the home country's plates are read
    as by a service for them alone.

    Input and output are those of `LPRNet`, in the alphabet of all countries: first the home
    country's characters, last the signs.

    Args:
        home: Reader of the home country's plates.
        abroad: Reader of the plates of all countries, with their signs.
        signs: Number of signs.
    """

    def __init__(self, home: LPRNet, abroad: LPRNet, signs: int) -> None:
        super().__init__()
        self.home, self.abroad, self.signs = home, abroad, signs
        self.impossible, self.min_sign_score = IMPOSSIBLE, MIN_SIGN_SCORE  # for TorchScript

    def forward(self, crops: Tensor) -> Tensor:
        home_logits, logits = self.home(crops), self.abroad(crops)
        missing = logits.shape[1] - home_logits.shape[1]
        chars, blank = home_logits[:, :-1], home_logits[:, -1:]
        foreign_chars = torch.full_like(blank, self.impossible).expand(-1, missing, -1)
        home_logits = torch.cat([chars, foreign_chars, blank], dim=1)
        scores = F.softmax(logits, dim=1)[:, -1 - self.signs : -1]
        has_sign = scores.sum(dim=1).amax(dim=1) > self.min_sign_score
        return torch.where(has_sign[:, None, None], logits, home_logits)


def join(home: Mapping[str, Tensor], abroad: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the weights of `TwoReaders` of those of its readers."""
    parts = (HOME, home), (ABROAD, abroad)
    return {f"{part}.{name}": tensor for part, state in parts for name, tensor in state.items()}


def select_part(state: Mapping[str, Tensor], part: str) -> dict[str, Tensor]:
    """Return the weights of one of the readers; none if `state` belongs to a single reader."""
    start = f"{part}."
    return {
        name.removeprefix(start): tensor for name, tensor in state.items() if name.startswith(start)
    }
