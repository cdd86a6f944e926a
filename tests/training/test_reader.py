from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch

from orchestrator.errors import SettingsError
from orchestrator.formats import russian
from orchestrator.networks.export import load
from orchestrator.networks.weights import WEIGHTS
from training import reader
from training.pools import (
    RealCrop,
)
from training.reader import accuracy, best_path, hold_out, run
from training.reader_trainer import ReaderTrainer
from training.recipes import CornerSchedule, ReaderData, ReaderRecipe, ReaderSchedule

FEW_CORNERS = CornerSchedule(steps=2, plates=3, batch=2, warm_up=1)
RUSSIAN = russian()
ALPHABET = RUSSIAN.alphabet
QUICK = ReaderSchedule(
    steps=3,
    batch=4,
    real_share=0.5,
    pool=6,
    typical=4,
    checked=2,
    warm_up=1,
    save_every=2,
)


def quick(data: ReaderData) -> ReaderRecipe:
    return ReaderRecipe(data=data, training=QUICK, corners=FEW_CORNERS)


def real_crop(name: str, text: str) -> RealCrop:
    picture = np.random.default_rng(0).integers(0, 255, (56, 220, 3)).astype(np.uint8)
    return RealCrop(name, picture, text)


def test_best_path_merges_repeats_and_drops_blanks() -> None:
    path = [10, 10, 22, 1, 22, 1, 22]  # A A - 1 - 1 -
    logits = torch.nn.functional.one_hot(torch.tensor([path]), 23).float().transpose(1, 2)
    assert best_path(logits, ALPHABET) == ["A11"]


def test_a_plate_kept_for_validation_is_in_no_training_photo() -> None:
    names = [("11_1.png", "A111AA11"), ("12_1.png", "A111AA11"), ("13_1.png", "B222BB22")]
    training, held_out = hold_out([real_crop(name, text) for name, text in names])
    assert [crop.name for crop in held_out] == ["11_1.png"]
    assert [crop.name for crop in training] == ["13_1.png"]


def test_photos_without_a_number_are_held_out_too() -> None:
    crops = [real_crop(f"photo{n}_1.png", f"A{n}AA11") for n in range(100, 300)]
    training, held_out = hold_out(crops)
    assert len(training) + len(held_out) == 200
    assert 5 < len(held_out) < 40


def test_accuracy_counts_texts_read_exactly() -> None:
    class Fixed(torch.nn.Module):
        def forward(self, crops: torch.Tensor) -> tuple[torch.Tensor, None]:
            path = torch.tensor([[10, 1, 22]]).expand(len(crops), 3)
            return torch.nn.functional.one_hot(path, 23).transpose(1, 2), None

    crops = np.zeros((2, 24, 94, 3), np.uint8)
    assert accuracy(Fixed(), crops, ["A1", "A11"], ALPHABET) == 0.5


@pytest.fixture
def data(tmp_path: Path) -> ReaderData:
    """Twelve made-up crops of twelve photos, one of which is held out."""
    crops = [real_crop(f"{n}_1.png", f"A{n:03d}AA77") for n in range(1, 13)]
    for crop in crops:
        cv2.imwrite(str(tmp_path / crop.name), crop.picture)
    rows = [f"{crop.name},{crop.text}" for crop in crops]
    (tmp_path / "labels.csv").write_text("\n".join(["crop,text", *rows]))
    return ReaderData(tmp_path, tmp_path / "labels.csv")


def test_a_resumed_run_is_the_same_as_one_without_a_break(tmp_path: Path, data) -> None:
    recipe = quick(data)
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    run(recipe, whole, resume=False)

    def interrupt(
        trainer: ReaderTrainer, batch: object, step: object = ReaderTrainer.train_on
    ) -> float:
        if trainer.step == 2:
            raise KeyboardInterrupt
        return step(trainer, batch)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ReaderTrainer, "train_on", interrupt)
        with pytest.raises(KeyboardInterrupt):
            run(recipe, broken, resume=False)
    run(recipe, broken, resume=True)
    first, second = (
        torch.load(folder / "checkpoint.pt", weights_only=True) for folder in (whole, broken)
    )
    assert first["step"] == second["step"] == 3
    torch.testing.assert_close(second["reader"], first["reader"], rtol=0, atol=0)
    torch.testing.assert_close(second["average"], first["average"], rtol=0, atol=0)


def test_a_runs_folder_can_be_served_from(tmp_path: Path, data) -> None:
    run(quick(data), tmp_path / "run", resume=False)
    assert sum(1 for name in ("yolo", "stn", "lprnet") if load(name, tmp_path / "run")) == 3


def test_a_fine_tuning_begins_with_the_weights_it_is_given(tmp_path: Path, data) -> None:
    slow = replace(QUICK, rate=1e-9, steps=1)
    run(ReaderRecipe(WEIGHTS, data, slow), tmp_path / "run", resume=False)
    tuned = torch.load(tmp_path / "run" / "lprnet.pth", weights_only=True)
    given = torch.load(WEIGHTS / "lprnet.pth", weights_only=True)
    torch.testing.assert_close(
        tuned["container.weight"], given["container.weight"], rtol=0, atol=1e-6
    )


@pytest.mark.parametrize(
    ("weights", "share", "taught"),
    [
        pytest.param(None, 0.5, True, id="from random weights"),
        pytest.param(WEIGHTS, 0.5, False, id="fine-tuning"),
        pytest.param(None, 1, False, id="no rendered plates"),
    ],
)
def test_stn_learns_the_corners_first_where_it_knows_none(
    tmp_path: Path,
    data: ReaderData,
    monkeypatch: pytest.MonkeyPatch,
    weights: Path | None,
    share: float,
    taught: bool,
) -> None:
    lessons: list[CornerSchedule] = []
    monkeypatch.setattr(reader, "teach_corners", lambda *given: lessons.append(given[2]))
    schedule = replace(QUICK, real_share=share, steps=1)
    run(ReaderRecipe(weights, data, schedule, FEW_CORNERS), tmp_path / "run", resume=False)
    assert lessons == [FEW_CORNERS] * taught


def test_real_plates_alone_need_crops() -> None:
    recipe = ReaderRecipe(training=replace(QUICK, real_share=1))
    with pytest.raises(SettingsError, match="wanted crops and labels for a share of 1"):
        run(recipe, Path("nowhere"), resume=False)


def test_plates_of_another_alphabet_cannot_be_rendered(data, tmp_path: Path) -> None:
    formats = tmp_path / "formats.toml"
    formats.write_text(
        'alphabet = "0123456789AZ"\n[[format]]\nname = "mine"\nlayouts = ["LDDDLLDD"]'
    )
    with pytest.raises(SettingsError, match="rendered plates: wanted the alphabet of Russian"):
        run(quick(data), Path("nowhere"), formats=formats, resume=False)
