"""Completing a data set: verdicts become labels or smoothed places, and nothing else changes."""

from pathlib import Path

import cv2
import numpy as np
import pytest
import torch
from torch import nn

from workshop.evaluation.yolo_labels import label_file, read_labels
from workshop.reporting.files import write_csv
from workshop.training.labels import Suggestion, apply, are_apart, find_unlabelled, main

LABEL = (0.875, 0.875, 0.25, 0.25)
BOX = (20.0, 10.0, 40.0, 20.0)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """One noisy picture, 80 x 40, with one label: x 60 to 80, y 30 to 40."""
    images, labels = tmp_path / "data/images/train", tmp_path / "data/labels/train"
    images.mkdir(parents=True)
    labels.mkdir(parents=True)
    noise = np.random.default_rng(3).integers(0, 256, (40, 80, 3), dtype=np.uint8)
    cv2.imwrite(str(images / "a.png"), noise)
    (labels / "a.txt").write_text("0 0.875 0.875 0.25 0.25\n")
    return tmp_path / "data"


def completed(data: Path, verdict: str) -> Path:
    """The only picture of the copy, after one verdict on BOX."""
    review, out = data.parent / "review.csv", data.parent / "out"
    write_csv(Suggestion, [Suggestion("a.png", *BOX, 0.9, verdict)], review)
    apply(data, review, out)
    return out / "images/train/a.png"


def test_a_plate_becomes_a_second_label_of_the_copy_alone(data: Path) -> None:
    picture = completed(data, "plate")
    assert read_labels(label_file(picture)) == (LABEL, (0.375, 0.375, 0.25, 0.25))
    assert read_labels(data / "labels/train/a.txt") == (LABEL,)


def test_an_unsure_place_is_smoothed_and_the_rest_is_as_it_was(data: Path) -> None:
    picture = cv2.imread(str(completed(data, "unsure"))).astype(int)
    original = cv2.imread(str(data / "images/train/a.png")).astype(int)
    changed = np.argwhere((picture != original).any(axis=2))
    assert picture[10:20, 20:40].std() < 10
    assert changed.min(axis=0).tolist() == [10, 20]
    assert changed.max(axis=0).tolist() == [21, 41]


def test_a_rejected_suggestion_changes_nothing(data: Path) -> None:
    picture = completed(data, "")
    assert picture.read_bytes() == (data / "images/train/a.png").read_bytes()
    assert read_labels(label_file(picture)) == (LABEL,)


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        pytest.param([100, 0, 110, 10], True, id="far"),
        pytest.param([10, 0, 20, 10], True, id="touching"),
        pytest.param([6, 0, 16, 10], True, id="40 %"),
        pytest.param([5, 0, 15, 10], False, id="half"),
        pytest.param([2, 2, 4, 4], False, id="inside"),
    ],
)
def test_boxes_are_apart_when_they_hardly_overlap(other: list[float], expected: bool) -> None:
    box = torch.tensor([[0.0, 0, 10, 10]])
    assert are_apart(box, torch.tensor([other], dtype=torch.float32)).tolist() == [expected]
    assert are_apart(box, torch.zeros(0, 4)).tolist() == [True]


class OnePlate(nn.Module):
    """A detector that finds BOX in a picture 80 x 40, which lies at 8, 12 in its letterbox."""

    def forward(self, net: torch.Tensor) -> torch.Tensor:
        assert net.shape == (1, 64, 96, 3)
        return torch.tensor([[[28.0, 22, 48, 32, 0.9, 0.0]]])


def test_a_plate_without_a_label_is_suggested_and_no_other(data: Path) -> None:
    assert list(find_unlabelled(data, OnePlate())) == [Suggestion("a.png", *BOX, 0.9)]
    (data / "labels/train/a.txt").write_text("0 0.375 0.375 0.25 0.25\n")
    assert list(find_unlabelled(data, OnePlate())) == []


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        pytest.param("notes.txt", "wanted a PyTorch file of tensors only", id="no weights"),
        pytest.param("stn.pth", "wanted weights of the detector, got others", id="others"),
        pytest.param("none.pt", "cannot be read: No such file", id="no file"),
    ],
)
def test_weights_of_no_detector_are_refused_in_a_sentence(
    data: Path, weights: str, message: str
) -> None:
    (data / "notes.txt").write_text("r\n")
    torch.save({"weight": torch.zeros(1)}, data / "stn.pth")
    arguments = ["--data", str(data), "--weights", str(data / weights)]
    with pytest.raises(SystemExit, match=message):
        main([*arguments, "--out", str(data / "review")])
    assert not (data / "review").exists()
