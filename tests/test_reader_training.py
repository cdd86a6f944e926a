from pathlib import Path

import cv2
import numpy as np
import pytest
import torch

from orchestrator.training.pools import (
    UNKNOWN_CORNERS,
    Pool,
    RealCrop,
    cut_real,
    inner_box,
    read_crops,
    read_labels,
    to_input,
    to_targets,
)
from orchestrator.training.reader import accuracy, best_path, cut_exactly, read, split
from orchestrator.training.synth import Sample, samples
from orchestrator.training.trainer import ROOM, Schedule, Trainer, corner_loss, plain_weights


def real_crop(name: str, text: str) -> RealCrop:
    picture = np.random.default_rng(0).integers(0, 255, (56, 220, 3)).astype(np.uint8)
    return RealCrop(name, picture, text)


def test_input_is_rgb_from_minus_one_to_one() -> None:
    crops = np.zeros((1, 24, 94, 3), np.uint8)
    crops[..., 2] = 255  # red in BGR
    tensor = to_input(crops)
    assert tensor.shape == (1, 3, 24, 94)
    assert tensor[0, :, 0, 0].tolist() == [127.5 / 128, -127.5 / 128, -127.5 / 128]


def test_targets_are_classes_in_one_row() -> None:
    classes, lengths = to_targets(["A1", "X"])
    assert classes.tolist() == [10, 1, 21]
    assert lengths.tolist() == [2, 1]


def test_best_path_merges_repeats_and_drops_blanks() -> None:
    path = [10, 10, 22, 1, 22, 1, 22]  # A A - 1 - 1 -
    logits = torch.nn.functional.one_hot(torch.tensor([path]), 23).float().transpose(1, 2)
    assert best_path(logits) == ["A11"]


def test_a_pool_replaces_its_oldest_samples() -> None:
    made = iter(range(6))

    def source(_: np.random.Generator) -> Sample:
        return Sample(np.zeros((24, 94, 3), np.uint8), str(next(made)), UNKNOWN_CORNERS)

    pool = Pool(source, size=4, seed=0)
    pool.refresh(2)
    assert {one.text for one in pool.draw(100)} == {"2", "3", "4", "5"}


def test_labels_without_votes_or_format_are_left_out(tmp_path: Path) -> None:
    table = tmp_path / "drafts.csv"
    rows = ["1_1.png,A123BC77,9", "2_1.png,A123BC77,6", "3_1.png,A123,9"]
    table.write_text("\n".join(["crop,draft_text,votes_of_9", *rows]))
    assert read_labels(table, votes=7) == {"1_1.png": "A123BC77"}


def test_crops_are_read_in_order(tmp_path: Path) -> None:
    for name in ("2_1.png", "1_1.png"):
        cv2.imwrite(str(tmp_path / name), np.zeros((20, 60, 3), np.uint8))
    crops = read_crops(tmp_path, {"2_1.png": "A123BC77", "1_1.png": "B123BC77"})
    assert [crop.text for crop in crops] == ["B123BC77", "A123BC77"]


def test_a_missing_crop_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no picture"):
        read_crops(tmp_path, {"1_1.png": "A123BC77"})


def test_the_inner_box_leaves_the_margins() -> None:
    # 100 x 50 plate with 5 % of its width and 20 % of its height on each side
    assert inner_box(np.zeros((70, 110, 3), np.uint8)) == pytest.approx([5, 10, 105, 60])


def test_a_real_crop_is_cut_differently_each_time() -> None:
    rng, crop = np.random.default_rng(0), real_crop("1_1.png", "A123BC77")
    first, second = cut_real(rng, crop), cut_real(rng, crop)
    assert first.shape == second.shape == (24, 94, 3)
    assert (first != second).any()
    assert cut_exactly([crop]).shape == (1, 24, 94, 3)


def test_a_plate_kept_for_validation_is_in_no_training_photo() -> None:
    names = [("11_1.png", "A111AA11"), ("12_1.png", "A111AA11"), ("13_1.png", "B222BB22")]
    training, held_out = split([real_crop(name, text) for name, text in names])
    assert [crop.name for crop in held_out] == ["11_1.png"]
    assert [crop.name for crop in training] == ["13_1.png"]


def test_the_rate_warms_up_and_falls() -> None:
    schedule = Schedule(steps=100, rate=1.0, warm_up=10)
    assert schedule.rate_at(0) == pytest.approx(0.1)
    assert schedule.rate_at(10) == pytest.approx(1.0)
    assert schedule.rate_at(100) == pytest.approx(0.01)


def test_a_few_steps_lower_the_loss_and_a_checkpoint_brings_them_back(tmp_path: Path) -> None:
    batch = samples(4, seed=0)
    trainer = Trainer(Schedule(steps=20, warm_up=1, straight=4, rate=2e-3))
    losses = [trainer.train_on(batch) for _ in range(5)]
    assert losses[-1] < losses[0]
    trainer.save(tmp_path)
    again = Trainer(Schedule())
    again.load(tmp_path / "checkpoint.pt")
    assert again.step == 5
    assert read(again.reader, batch.crops) == read(trainer.reader, batch.crops)
    stn = torch.load(tmp_path / "stn.pth", weights_only=True)
    assert stn.keys() == again.reader.stn.state_dict().keys()


def test_plain_weights_have_no_subnormal_numbers() -> None:
    layer = torch.nn.Linear(2, 1)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[1e-39, 0.5]]))
    assert plain_weights(layer)["weight"].tolist() == [[0.0, 0.5]]


def test_the_corner_loss_is_zero_where_theta_maps_onto_the_plate() -> None:
    theta = torch.tensor([[[0.5 * ROOM, 0, 0.1], [0, 0.25 * ROOM, 0]]])
    corners = torch.tensor([[[-0.4, -0.25], [0.6, -0.25], [0.6, 0.25], [-0.4, 0.25]]])
    assert corner_loss(theta, corners).item() == pytest.approx(0, abs=1e-6)
    assert corner_loss(theta, corners + 0.2).item() == pytest.approx(0.2)


def test_unknown_corners_do_not_count() -> None:
    unknown = torch.from_numpy(UNKNOWN_CORNERS)[None]
    assert corner_loss(torch.zeros(1, 2, 3), unknown).item() == 0


def test_accuracy_counts_texts_read_exactly() -> None:
    class Fixed(torch.nn.Module):
        def forward(self, crops: torch.Tensor) -> tuple[torch.Tensor, None]:
            path = torch.tensor([[10, 1, 22]]).expand(len(crops), 3)
            return torch.nn.functional.one_hot(path, 23).transpose(1, 2), None

    crops = np.zeros((2, 24, 94, 3), np.uint8)
    assert accuracy(Fixed(), crops, ["A1", "A11"]) == 0.5
