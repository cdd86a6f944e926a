"""The weight of regions that do not exist, fitted on plates whose texts are known."""

import numpy as np
import pytest
import torch

from orchestrator.formats.plate_formats import russian
from workshop.training.regions import NATS, Trial, fit_weight, try_weights

RUSSIAN = russian()


def logits_of(text: str, doubted: str, odds: float) -> torch.Tensor:
    """[24, 18] of a text whose last character may as well be another, by their odds."""
    classes = [RUSSIAN.blank] * 18
    classes[: 2 * len(text) : 2] = [RUSSIAN.alphabet.index(char) for char in text]
    lattice = np.full((RUSSIAN.classes, 18), -40.0)
    lattice[classes, range(18)] = 0.0
    lattice[RUSSIAN.alphabet.index(doubted), 2 * len(text) - 2] = -np.log(odds)
    return torch.from_numpy(lattice).float()


def test_a_code_that_exists_is_read_once_the_weight_beats_the_doubt() -> None:
    logits = logits_of("A001AA77", "0", odds=np.exp(-1.2))[None]  # 70, which exists: Tomsk
    assert {trial.exact for trial in try_weights(logits, ["A001AA77"], RUSSIAN)} == {0.0}
    logits = logits_of("A001AA60", "8", odds=1.0)[None]
    assert len(try_weights(logits, ["A001AA60"], RUSSIAN)) == len(NATS)
    logits = logits_of("A001AA02", "0", odds=np.exp(-1.2))[None]  # 00, which does not
    exact = {trial.nats: trial.exact for trial in try_weights(logits, ["A001AA02"], RUSSIAN)}
    assert [exact[0.0], exact[1.0], exact[1.5], exact[8.0]] == [0, 0, 1, 1]


def test_without_weight_the_loss_is_that_of_the_reading() -> None:
    logits = torch.stack([logits_of("A001AA02", "0", odds=1.0)] * 2)
    (none, *_) = try_weights(logits, ["A001AA02"] * 2, RUSSIAN)
    assert none.nats == 0
    assert none.loss == pytest.approx(np.log(2), abs=1e-3)


def test_the_least_weight_that_is_as_good_as_the_best_is_taken() -> None:
    trials = [Trial(0.0, 0.5, 0.9), Trial(1.0, 0.4, 0.9), Trial(2.0, 0.3995, 0.9)]
    assert fit_weight(trials) == trials[1]
    assert fit_weight(trials[:1]) == trials[0]
