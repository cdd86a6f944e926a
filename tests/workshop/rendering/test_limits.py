"""Limits of plates: the reader has 18 steps for a line of 24 x 94 pixels."""

import numpy as np
import pytest
import torch

from orchestrator.errors import SettingsError
from orchestrator.formats.plate_formats import MAX_LENGTH, Formats, PlateFormat
from orchestrator.reading.ctc import decode
from orchestrator.reading.grammar import Grammar

NINE = Formats("0123456789", (PlateFormat("nine", ("DDDDDDDDD",)),))
BLANK = 10


def logits_of(classes: list[int]) -> torch.Tensor:
    """A network that is sure of a class at each step: (1, classes, steps)."""
    lattice = np.full((11, len(classes)), 0.001)
    lattice[classes, np.arange(len(classes))] = 0.99
    return torch.from_numpy(np.log(lattice)).float()[None]


def test_nine_equal_characters_fit_into_eighteen_steps() -> None:
    classes = [8, BLANK] * 9
    (reading,) = decode(logits_of(classes), Grammar.of(NINE))
    assert len(classes) == 18
    assert reading.candidates[0][0] == "888888888"


@pytest.mark.parametrize("layout", ["DDDDDDDDDD", "DDDDD/DDDDD"])
def test_ten_characters_are_refused_in_one_line_or_two(layout: str) -> None:
    assert MAX_LENGTH == 9
    with pytest.raises(SettingsError, match="wanted up to 9 characters, got DDDDD"):
        PlateFormat("ten", (layout,))
