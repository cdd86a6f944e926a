import numpy as np
import pytest
import torch

from orchestrator.formats.plate_formats import RUSSIA, Formats, PlateFormat, russian
from orchestrator.networks.lprnet import LPRNet
from orchestrator.reading.ctc import decode
from orchestrator.reading.grammar import Grammar
from workshop.rendering.samples.synth import render_sample
from workshop.training.reader.calibration import (
    choose_plates,
    fit_temperature,
    log_loss,
    scale_logits,
    score_texts,
)
from workshop.training.reader.crops import RealCrop
from workshop.training.reader.sources import RealPlates

RUSSIAN = russian()
ALPHABET, BLANK = RUSSIAN.alphabet, RUSSIAN.blank
GRAMMAR = Grammar.of(RUSSIAN)
TEXT = "A001AA77"


def logits(evidence: float) -> torch.Tensor:
    """[24, 18] for TEXT, its last digit in doubt: `evidence` for 7 over 1, every other sure."""
    classes = [BLANK] * 18
    classes[: 2 * len(TEXT) : 2] = [ALPHABET.index(char) for char in TEXT]
    lattice = np.full((BLANK + 1, 18), -40.0)
    lattice[classes, range(18)] = 0.0
    lattice[ALPHABET.index("1"), 2 * len(TEXT) - 2] = -evidence
    return torch.from_numpy(lattice).float()


@pytest.mark.parametrize("boast", [0.5, 2.0])
def test_the_temperature_undoes_what_the_network_boasts(boast: float) -> None:
    right = {0.6: 6, 0.8: 8, 0.9: 9}  # of ten
    lattices = [logits(boast * np.log(score / (1 - score))) for score in right for _ in range(10)]
    texts = [
        TEXT if number < count else TEXT[:-1] + "1"
        for count in right.values()
        for number in range(10)
    ]
    assert fit_temperature(torch.stack(lattices), texts, RUSSIAN) == pytest.approx(boast, rel=0.05)


def test_a_text_is_scored_by_the_best_candidate() -> None:
    scores, right = score_texts(
        torch.stack([logits(np.log(4))] * 2), [TEXT, "A001AA71"], RUSSIAN, 1.0
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
    assert [reading.raw_text for reading in decode(lprnet(crops), GRAMMAR)] == [
        reading.raw_text for reading in decode(before, GRAMMAR)
    ]


def test_a_plate_is_scored_by_the_layouts_of_as_many_lines_as_it_has() -> None:
    wide, square = PlateFormat("wide", ("LDDDLLDD",)), PlateFormat("square", ("LDD/DLL",))
    text = "A001AA"
    lattice = logits(np.log(4))
    lattice[:, 2 * len(text) - 1 :] = -40.0
    lattice[BLANK, 2 * len(text) - 1 :] = 0.0
    scores, right = score_texts(lattice[None], [text], Formats(ALPHABET, (wide, square)), 1.0)
    assert right.tolist() == [True]
    assert scores == pytest.approx([1.0], abs=1e-3)


def plates_of(count: int) -> RealPlates | None:
    picture = np.zeros((56, 220, 3), np.uint8)
    crops = tuple(
        RealCrop(f"{number}.png", picture, f"A{number:03d}AA77") for number in range(count)
    )
    return RealPlates(crops, RUSSIA) if crops else None


def test_enough_held_out_crops_are_calibrated_on(monkeypatch) -> None:
    monkeypatch.setattr("workshop.training.reader.calibration.MIN_CROPS", 3)
    plates = choose_plates(plates_of(3), None, seed=0, plates=48)
    assert plates
    assert plates.crops.shape == (48, 24, 94, 3)
    assert {*plates.texts} == {"A000AA77", "A001AA77", "A002AA77"}


@pytest.mark.parametrize(
    ("count", "why"),
    [
        pytest.param(0, "no real crops were held out", id="none"),
        pytest.param(12, "only 12 real crops were held out", id="too few"),
    ],
)
def test_rendered_plates_stand_in_for_too_few_crops(count: int, why: str, caplog) -> None:
    caplog.set_level("INFO")
    plates = choose_plates(plates_of(count), render_sample, seed=0, plates=20)
    assert plates
    assert 10 < len(plates.texts) <= 20  # without the flat ones of two lines
    assert all(plates.texts)
    assert caplog.messages == [f"calibrated on 20 rendered plates, since {why}"]


def test_plates_that_cannot_be_rendered_leave_the_scores_as_they_are(caplog) -> None:
    assert choose_plates(plates_of(12), None, seed=0, plates=20) is None
    assert "text scores are not calibrated: only 12 real crops were held out" in caplog.text
