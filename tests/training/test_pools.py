from pathlib import Path

import cv2
import numpy as np
import pytest

from orchestrator.errors import SettingsError
from orchestrator.formats import russian
from rendering.synth import Sample
from training.pools import (
    UNKNOWN_CORNERS,
    Pool,
    RealCrop,
    cut_real,
    inner_box,
    read_crops,
    read_texts,
    to_input,
    to_targets,
)
from training.reader import cut_exactly

RUSSIAN = russian()
ALPHABET = RUSSIAN.alphabet


def test_input_is_rgb_from_minus_one_to_one() -> None:
    crops = np.zeros((1, 24, 94, 3), np.uint8)
    crops[..., 2] = 255  # red in BGR
    tensor = to_input(crops)
    assert tensor.shape == (1, 3, 24, 94)
    assert tensor[0, :, 0, 0].tolist() == [127.5 / 128, -127.5 / 128, -127.5 / 128]


def test_targets_are_classes_in_one_row() -> None:
    classes, lengths = to_targets(["A1", "X"], ALPHABET)
    assert classes.tolist() == [10, 1, 21]
    assert lengths.tolist() == [2, 1]


def numbered(rng: np.random.Generator) -> Sample:
    """A sample whose text tells what its random numbers were."""
    return Sample(np.zeros((24, 94, 3), np.uint8), str(rng.integers(10**9)), UNKNOWN_CORNERS)


def test_a_pool_replaces_its_oldest_samples() -> None:
    pool = Pool(numbered, size=4, count=100, seed=0)  # 25 new ones with every draw
    first, second = ({one.text for one in pool.draw()} for _ in range(2))
    assert len(first) == len(second) == 4
    assert not first & second


def test_a_pool_that_begins_later_gives_what_it_would_have_given() -> None:
    whole = Pool(numbered, size=6, count=8, seed=3)
    draws = [[one.text for one in whole.draw()] for _ in range(5)]
    later = Pool(numbered, size=6, count=8, seed=3, step=3)
    assert [[one.text for one in later.draw()] for _ in range(2)] == draws[3:]


def test_labels_without_votes_or_format_are_left_out(tmp_path: Path) -> None:
    table = tmp_path / "drafts.csv"
    rows = ["1_1.png,A123BC77,9", "2_1.png,A123BC77,6", "3_1.png,A123,9"]
    table.write_text("\n".join(["crop,draft_text,votes_of_9", *rows]))
    assert read_texts(table, 7, RUSSIAN) == {"1_1.png": "A123BC77"}


def test_labels_need_no_votes(tmp_path: Path) -> None:
    table = tmp_path / "labels.csv"
    table.write_text("crop,text\n1_1.png,A123BC77\n2_1.png,\n")
    assert read_texts(table, 7, RUSSIAN) == {"1_1.png": "A123BC77"}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("file,text\n1.png,A123BC77\n", id="column"),
        pytest.param("crop,draft_text,votes_of_9\n1.png,A123BC77,many\n", id="votes"),
    ],
)
def test_a_table_of_other_columns_is_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "labels.csv").write_text(text)
    with pytest.raises(SettingsError, match=r"labels.csv: wanted a CSV of crop,text"):
        read_texts(tmp_path / "labels.csv", 7, RUSSIAN)


def test_crops_are_read_in_order(tmp_path: Path) -> None:
    for name in ("2_1.png", "1_1.png"):
        cv2.imwrite(str(tmp_path / name), np.zeros((20, 60, 3), np.uint8))
    crops = read_crops(tmp_path, {"2_1.png": "A123BC77", "1_1.png": "B123BC77"})
    assert [crop.text for crop in crops] == ["B123BC77", "A123BC77"]


def test_a_missing_crop_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"1_1\.png: wanted a picture, got none"):
        read_crops(tmp_path, {"1_1.png": "A123BC77"})


def test_the_inner_box_leaves_the_margins() -> None:
    # 100 x 50 plate with 5 % of its width and 20 % of its height on each side
    assert inner_box(np.zeros((70, 110, 3), np.uint8)) == pytest.approx([5, 10, 105, 60])


def test_a_real_crop_is_cut_differently_each_time() -> None:
    rng = np.random.default_rng(0)
    crop = RealCrop("1_1.png", rng.integers(0, 255, (56, 220, 3), np.uint8), "A123BC77")
    first, second = cut_real(rng, crop), cut_real(rng, crop)
    assert first.shape == second.shape == (24, 94, 3)
    assert (first != second).any()
    assert cut_exactly([crop]).shape == (1, 24, 94, 3)
