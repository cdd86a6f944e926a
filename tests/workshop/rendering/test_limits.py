"""Limits of plates: the reader has 18 steps for a line of 24 x 94 pixels."""

import numpy as np
import pytest
import torch

from orchestrator.errors import SettingsError
from orchestrator.formats.plate_formats import MAX_LENGTH, Formats, PlateFormat
from orchestrator.networks.lprnet import LPRNet
from orchestrator.reading.crops import READER_SIZE_WH
from orchestrator.reading.ctc import decode
from orchestrator.reading.grammar import Grammar

NINE = Formats("0123456789", (PlateFormat("nine", ("DDDDDDDDD",)),))
BLANK = 10


def logits_of(classes: list[int]) -> torch.Tensor:
    """A network that is sure of a class at each step: (1, classes, steps)."""
    lattice = np.full((11, len(classes)), 0.001)
    lattice[classes, np.arange(len(classes))] = 0.99
    return torch.from_numpy(np.log(lattice)).float()[None]


def test_a_line_has_eighteen_steps() -> None:
    width, height = READER_SIZE_WH
    assert (width, height) == (94, 24)
    network = LPRNet(NINE.classes).eval()
    assert network(torch.zeros(1, 3, height, width)).shape == (1, 11, 18)


def test_nine_equal_characters_fit_into_eighteen_steps() -> None:
    classes = [8, BLANK] * 9
    (reading,) = decode(logits_of(classes), Grammar.of(NINE))
    assert len(classes) == 18
    assert reading.candidates[0][0] == "888888888"


def test_equal_characters_without_a_blank_between_are_one() -> None:
    pairs = Formats("0123456789", (PlateFormat("two", ("D", "DD")),))
    (merged,) = decode(logits_of([8, 8] + [BLANK] * 16), Grammar.of(pairs))
    (parted,) = decode(logits_of([8, BLANK, 8] + [BLANK] * 15), Grammar.of(pairs))
    assert [merged.candidates[0][0], parted.candidates[0][0]] == ["8", "88"]


@pytest.mark.parametrize("layout", ["DDDDDDDDDD", "DDDDD/DDDDD"])
def test_ten_characters_are_refused_in_one_line_or_two(layout: str) -> None:
    assert MAX_LENGTH == 9
    with pytest.raises(SettingsError, match="wanted up to 9 characters, got DDDDD"):
        PlateFormat("ten", (layout,))
