"""The detector's training; what needs the yolov5 package is skipped without it."""

from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch

from orchestrator.errors import SettingsError
from orchestrator.networks.export import load
from workshop.training.detector.detector_recipe import (
    DetectorData,
    DetectorRecipe,
    DetectorSchedule,
)
from workshop.training.detector.detector_training import Weather, export_average, find_folders, run
from workshop.training.metrics import DetectorRow, Metrics
from workshop.training.runs import Stopwatch

QUICK = DetectorSchedule(epochs=2, plain_epochs=1, batch=2, side_px=64)


def test_export_writes_the_moving_average_as_float32(tmp_path: Path) -> None:
    average = {"weight": torch.ones(2, dtype=torch.float16), "count": torch.tensor(3)}
    torch.save({"model": {"weight": torch.zeros(2)}, "ema": average}, tmp_path / "best.pt")
    export_average(tmp_path / "best.pt", tmp_path / "yolo.pt")
    tensors = torch.load(tmp_path / "yolo.pt", weights_only=True)
    assert tensors["weight"].dtype == torch.float32
    assert tensors["weight"].tolist() == [1, 1]
    assert tensors["count"].dtype == torch.int64


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    """A set in YOLO format: noise, and a bright box labelled as a plate."""
    rng = np.random.default_rng(0)
    for index in range(6):
        split = "train" if index < 4 else "val"
        for kind in ("images", "labels"):
            (tmp_path / kind / split).mkdir(parents=True, exist_ok=True)
        picture = rng.integers(0, 90, (64, 64, 3), np.uint8)
        picture[24:36, 10:50] = 250
        cv2.imwrite(str(tmp_path / "images" / split / f"{index}.png"), picture)
        label = tmp_path / "labels" / split / f"{index}.txt"
        label.write_text("0 0.46875 0.46875 0.625 0.1875\n")
    return tmp_path


def test_pictures_of_a_set_and_more_are_found(pictures: Path) -> None:
    data = DetectorData(pictures, (pictures / "images" / "val",))
    images = pictures / "images"
    assert find_folders(data) == ([images / "train", images / "val"], images / "val")


def test_a_set_without_pictures_or_labels_is_an_error(pictures: Path) -> None:
    with pytest.raises(SettingsError, match="wanted a data set in YOLO format, got none"):
        find_folders(DetectorData())
    with pytest.raises(SettingsError, match="wanted pictures, got no such folder"):
        find_folders(DetectorData(pictures / "images"))
    (pictures / "labels" / "val").rename(pictures / "labels" / "test")
    with pytest.raises(SettingsError, match="val: wanted labels in YOLO format"):
        find_folders(DetectorData(pictures))


def interrupt_at(epoch: int, recipe: DetectorRecipe, out: Path) -> None:
    """Begin a run, and break it off before an epoch."""
    from workshop.training.detector.detector_trainer import DetectorTrainer

    def interrupt(trainer: DetectorTrainer, *_: object) -> None:
        if trainer.epoch == epoch:
            raise KeyboardInterrupt
        run_epoch(trainer, *_)

    run_epoch = DetectorTrainer.run_epoch
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DetectorTrainer, "run_epoch", interrupt)
        with pytest.raises(KeyboardInterrupt):
            run(recipe, out, resume=False)


@pytest.mark.filterwarnings("ignore")  # yolov5 is older than the libraries that it imports
def test_a_resumed_run_is_the_same_as_one_without_a_break(pictures: Path, tmp_path: Path) -> None:
    pytest.importorskip("yolov5", reason="needs the Poetry group train", exc_type=ImportError)
    recipe = DetectorRecipe(data=DetectorData(pictures), training=QUICK)
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    run(recipe, whole, resume=False)

    interrupt_at(1, recipe, broken)
    run(recipe, broken, resume=True)
    whole_state, broken_state = (
        torch.load(run / "last.pt", weights_only=True) for run in (whole, broken)
    )
    assert whole_state["epoch"] == broken_state["epoch"] == 2
    torch.testing.assert_close(broken_state["model"], whole_state["model"], rtol=0, atol=0)
    assert load("yolo", broken)  # the run's folder can be served from
    assert (broken / "metrics.csv").read_text() == (whole / "metrics.csv").read_text()
    run(replace(recipe, training=replace(QUICK, epochs=3)), broken, resume=True)
    assert torch.load(broken / "last.pt", weights_only=True)["epoch"] == 3
    assert [row.epoch for row in Metrics(DetectorRow, broken, 3).rows] == [0, 1, 2, 3]


@pytest.mark.filterwarnings("ignore")  # yolov5 is older than the libraries that it imports
def test_a_run_by_the_clock_counts_the_time_before_it_was_cut_off(
    pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("yolov5", reason="needs the Poetry group train", exc_type=ImportError)

    class TenSecondsAnEpoch(Stopwatch):
        @property
        def seconds(self) -> float:
            self.before_s += 10
            return self.before_s

    monkeypatch.setattr("workshop.training.detector.detector_training.Stopwatch", TenSecondsAnEpoch)
    training = replace(QUICK, minutes=1, loaders=1, validate_every=9)
    recipe = DetectorRecipe(data=DetectorData(pictures), training=training)
    interrupt_at(2, recipe, tmp_path / "run")  # after 30 s; 10 of them for the start
    run(recipe, tmp_path / "run", resume=True)
    state = torch.load(tmp_path / "run" / "last.pt", weights_only=True)
    assert (state["epoch"], state["epochs"], state["spent_s"]) == (4, 4, 60)
    assert load("yolo", tmp_path / "run")


PICTURE = np.random.default_rng(0).integers(60, 200, (96, 128, 3), dtype=np.uint8)
LABELS = np.array([[0, 0.5, 0.5, 0.25, 0.1]])


def draw_changes(share: float, labels: np.ndarray = LABELS, seed: int = 0) -> list[bool]:
    np.random.seed(seed)  # noqa: NPY002 - yolov5 seeds this generator
    weather = Weather(share)
    return [not np.array_equal(weather(PICTURE, labels)[0], PICTURE) for _ in range(40)]


@pytest.mark.parametrize(("share", "least", "most"), [(0.0, 0, 0), (0.5, 10, 30), (1.0, 38, 40)])
def test_so_many_pictures_are_changed(share: float, least: int, most: int) -> None:
    assert least <= sum(draw_changes(share)) <= most


def test_pictures_keep_their_size_and_labels_stay() -> None:
    for labels in (LABELS, np.zeros((0, 5))):
        picture, same = Weather(1.0)(PICTURE, labels)
        assert (picture.shape, picture.dtype) == (PICTURE.shape, np.uint8)
        assert same is labels


def test_the_epochs_seed_decides() -> None:
    assert draw_changes(0.5, seed=1) == draw_changes(0.5, seed=1)
    assert draw_changes(0.5, seed=1) != draw_changes(0.5, seed=2)
