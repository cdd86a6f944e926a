from contextlib import closing

import numpy as np
import pytest

from orchestrator.formats.plate_formats import russian
from workshop.rendering.samples.synth import UNKNOWN_CORNERS, Sample
from workshop.training.reader.sample_pools import Kind, Pools, to_input, to_targets

ALPHABET = russian().alphabet


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


KINDS = [Kind(numbered, 8, seed=3), Kind(numbered, 5, seed=4)]


def drawn(pools: Pools, times: int) -> list[list[str]]:
    with closing(pools):
        return [[one.text for one in pools.draw()] for _ in range(times)]


def test_a_pool_replaces_its_oldest_samples() -> None:
    kind = Kind(numbered, 100, seed=0)  # 17 new ones with every draw
    first, second = map(set, drawn(Pools([kind], size=4), 2))
    assert len(first) == len(second) == 4
    assert not first & second


def test_a_draw_has_some_of_each_kind() -> None:
    (texts,) = drawn(Pools(KINDS, size=1), 1)
    assert len(texts) == 13
    assert len(set(texts[:8])) == len(set(texts[8:])) == 1
    assert texts[0] != texts[8]


def test_a_sample_comes_from_its_seed_and_its_number_alone() -> None:
    (texts,) = drawn(Pools([Kind(numbered, 1, seed=3)], size=1), 1)
    assert texts == [numbered(np.random.default_rng([3, 0, 0])).text]


@pytest.mark.parametrize("workers", [0, 2])
def test_pools_that_begin_later_give_what_they_would_have_given(workers: int) -> None:
    whole = drawn(Pools(KINDS, size=40), 5)
    assert drawn(Pools(KINDS, size=40, step=3, workers=workers), 2) == whole[3:]
