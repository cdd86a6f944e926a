from contextlib import closing

import numpy as np
import pytest
import torch

from orchestrator.formats.plate_formats import russian
from workshop.rendering.samples.synth import UNKNOWN_CORNERS, Sample
from workshop.training.reader.sample_pools import Kind, Pools, move, to_input, to_targets

ALPHABET = russian().alphabet


def test_input_is_rgb_from_minus_one_to_one() -> None:
    crops = np.zeros((1, 24, 94, 3), np.uint8)
    crops[..., 2] = 255  # red in BGR
    tensor = to_input(torch.from_numpy(crops))
    assert tensor.shape == (1, 3, 24, 94)
    assert tensor[0, :, 0, 0].tolist() == [127.5 / 128, -127.5 / 128, -127.5 / 128]


def test_targets_are_classes_in_one_row() -> None:
    classes, lengths = to_targets(["A1", "X"], ALPHABET)
    assert classes.tolist() == [10, 1, 21]
    assert lengths.tolist() == [2, 1]


def numbered(rng: np.random.Generator) -> Sample:
    """A sample whose text tells what its random numbers were."""
    return Sample(np.zeros((24, 94, 3), np.uint8), str(rng.integers(10**9)), UNKNOWN_CORNERS)


KINDS = [Kind(numbered, 8, seed=3), Kind(numbered, 5, seed=4)]


def draw_texts(pools: Pools, times: int) -> list[list[str]]:
    with closing(pools):
        return [pools.draw().texts for _ in range(times)]


def test_a_pool_replaces_its_oldest_samples() -> None:
    kind = Kind(numbered, 100, seed=0)  # 17 new ones with every draw
    first, second = map(set, draw_texts(Pools([kind], size=4), 2))
    assert len(first) == len(second) == 4
    assert not first & second


def test_a_draw_has_some_of_each_kind() -> None:
    (texts,) = draw_texts(Pools(KINDS, size=1), 1)
    assert len(texts) == 13
    assert len(set(texts[:8])) == len(set(texts[8:])) == 1
    assert texts[0] != texts[8]


def test_a_sample_comes_from_its_seed_and_its_number_alone() -> None:
    (texts,) = draw_texts(Pools([Kind(numbered, 1, seed=3)], size=1), 1)
    assert texts == [numbered(np.random.default_rng([3, 0, 0])).text]


@pytest.mark.parametrize("workers", [0, 2])
def test_pools_that_begin_later_give_what_they_would_have_given(workers: int) -> None:
    whole = draw_texts(Pools(KINDS, size=40), 5)
    assert draw_texts(Pools(KINDS, size=40, step=3, workers=workers), 2) == whole[3:]


def test_corners_follow_a_crop_that_is_moved() -> None:
    corner = torch.tensor([0.4, -0.2])  # column 65.3, row 9.1
    crops = torch.full((8, 3, 24, 94), -1.0)
    crops[:, :, 8:11, 64:67] = 1.0
    torch.manual_seed(0)
    moved, corners = move(crops, corner.expand(8, 4, 2))
    light = (moved[:, 0] + 1).clamp_min(0)
    total = light.sum(dim=(1, 2))
    x = (light.sum(dim=1) @ torch.arange(94.0)) / total
    y = (light.sum(dim=2) @ torch.arange(24.0)) / total
    light_places = torch.stack([(x + 0.5) / 47 - 1, (y + 0.5) / 12 - 1], dim=1)
    torch.testing.assert_close(light_places, corners[:, 0], rtol=0, atol=0.05)
    assert (corners[:, 0] - corner).abs().max() > 0.05


def test_unknown_corners_stay_unknown() -> None:
    corners = torch.from_numpy(UNKNOWN_CORNERS).expand(2, 4, 2)
    assert move(torch.zeros(2, 3, 24, 94), corners)[1].isnan().all()
