"""Widens readers of a shorter alphabet to a longer one, whose new characters they never read.

Readers from before diplomatic plates do not know the letter D. Widened, they can be measured beside
newer readers, and newer ones can be trained from them.
"""

from __future__ import annotations

import torch
from torch import Tensor

from orchestrator.errors import WeightsError

UNTOLD = "0123456789ABEKMHOPCTYX"
"""Alphabet of readers whose weights do not name theirs: Russian plates except diplomatic ones."""
NEVER = -30.0
"""Logit of a character that is never read; those of others lie between -15 and 15."""
CONTEXT = 64 + 128 + 256
"""Channels of LPRNet's last convolution that are no classes; the classes follow them."""


def widen(state: dict[str, Tensor], alphabet: str, target: str) -> dict[str, Tensor]:
    """Return the weights of an LPRNet for a longer alphabet; its readings stay the same.

    Args:
        state: Weights with as many classes as `alphabet` has characters, and the blank.
        alphabet: The alphabet of the weights.
        target: The alphabet followed by other characters.

    Raises:
        WeightsError: `target` does not begin with the alphabet, or the weights have other classes.
    """
    count, more = len(alphabet), len(target) - len(alphabet)
    rows = len(state.get("container.bias", ()))
    if not target.startswith(alphabet) or rows != count + 1:
        raise WeightsError(
            f"reader: wanted the first characters of {target} and a class for each and the blank, "
            f"got {alphabet} and {rows} classes"
        )

    def insert(tensor: Tensor, value: float, at: int, dim: int = 0) -> Tensor:
        shape = [more if axis == dim else size for axis, size in enumerate(tensor.shape)]
        before, after = tensor.tensor_split([at], dim=dim)
        return torch.cat((before, tensor.new_full(shape, value), after), dim=dim)

    fresh = {"backbone.21.running_var": 1.0, "container.bias": NEVER}
    wide = {
        name: insert(tensor, fresh.get(name, 0.0), count)
        if name.startswith(("backbone.20.", "backbone.21.", "container.")) and tensor.ndim
        else tensor
        for name, tensor in state.items()
    }
    # LPRNet divides these channels by the mean of their squares, which silent ones make smaller.
    weight = wide["container.weight"].clone()
    weight[:, CONTEXT:] *= (count + 1) / (len(target) + 1)
    return {**wide, "container.weight": insert(weight, 0.0, CONTEXT + count, dim=1)}
