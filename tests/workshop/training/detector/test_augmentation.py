"""Changes of the detector's pictures: their share, their labels and their reproducibility."""

import numpy as np
import pytest

from workshop.training.detector.augmentation import Weather

PICTURE = np.random.default_rng(0).integers(60, 200, (96, 128, 3), dtype=np.uint8)
LABELS = np.array([[0, 0.5, 0.5, 0.25, 0.1]])


def changed(share: float, labels: np.ndarray = LABELS, seed: int = 0) -> list[bool]:
    np.random.seed(seed)  # noqa: NPY002 - yolov5 seeds this generator
    weather = Weather(share)
    return [not np.array_equal(weather(PICTURE, labels)[0], PICTURE) for _ in range(40)]


@pytest.mark.parametrize(("share", "least", "most"), [(0.0, 0, 0), (0.5, 10, 30), (1.0, 38, 40)])
def test_so_many_pictures_are_changed(share: float, least: int, most: int) -> None:
    assert least <= sum(changed(share)) <= most


def test_pictures_keep_their_size_and_labels_stay() -> None:
    for labels in (LABELS, np.zeros((0, 5))):
        picture, same = Weather(1.0)(PICTURE, labels)
        assert (picture.shape, picture.dtype) == (PICTURE.shape, np.uint8)
        assert same is labels


def test_the_epochs_seed_decides() -> None:
    assert changed(0.5, seed=1) == changed(0.5, seed=1)
    assert changed(0.5, seed=1) != changed(0.5, seed=2)
