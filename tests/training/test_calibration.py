import numpy as np
import pytest
import torch

from orchestrator.ctc import decode
from orchestrator.formats import russian
from orchestrator.grammar import Grammar
from orchestrator.networks.lprnet import LPRNet
from training.calibration import fit_temperature, log_loss, scale_logits, score_texts

ALPHABET, BLANK = russian().alphabet, russian().blank
GRAMMAR = Grammar.of(russian())
TEXT = "A001AA77"


def logits(evidence: float) -> torch.Tensor:
    """[23, 18] for TEXT, its last digit in doubt: `evidence` for 7 over 1, every other sure."""
    classes = [BLANK] * 18
    classes[: 2 * len(TEXT) : 2] = [ALPHABET.index(char) for char in TEXT]
    lattice = np.full((BLANK + 1, 18), -40.0)
    lattice[classes, range(18)] = 0.0
    lattice[ALPHABET.index("1"), 2 * len(TEXT) - 2] = -evidence
    return torch.from_numpy(lattice).float()


@pytest.mark.parametrize("boast", [0.5, 2.0])
def test_the_temperature_undoes_what_the_network_boasts(boast: float) -> None:
    rng = np.random.default_rng(0)
    chances = rng.uniform(0.55, 0.98, 500)
    lattices = torch.stack([logits(boast * np.log(p / (1 - p))) for p in chances])
    texts = [TEXT if rng.random() < p else TEXT[:-1] + "1" for p in chances]
    assert fit_temperature(lattices, texts, GRAMMAR) == pytest.approx(boast, rel=0.25)


def test_a_text_is_scored_by_the_best_candidate() -> None:
    scores, right = score_texts(
        torch.stack([logits(np.log(4))] * 2), [TEXT, "A001AA71"], GRAMMAR, 1.0
    )
    assert scores == pytest.approx([0.8, 0.8], abs=1e-3)
    assert right.tolist() == [True, False]


def test_log_loss_is_that_of_what_came_true() -> None:
    loss = log_loss(np.array([0.8, 0.8]), np.array([True, False]))
    assert loss == pytest.approx(-(np.log(0.8) + np.log(0.2)) / 2)


@torch.no_grad()
def test_a_calibrated_network_gives_divided_logits() -> None:
    torch.manual_seed(0)
    lprnet = LPRNet(BLANK + 1).eval()
    crops = torch.randn(2, 3, 24, 94)
    before = lprnet(crops)
    scale_logits(lprnet, 0.5)
    torch.testing.assert_close(lprnet(crops), 2 * before)
    assert [r.raw_text for r in decode(lprnet(crops), GRAMMAR)] == [
        r.raw_text for r in decode(before, GRAMMAR)
    ]
