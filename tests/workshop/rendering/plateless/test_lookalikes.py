"""Things that look like plates: drawn from the seed alone, with no text of a plate."""

import numpy as np
import pytest

from orchestrator.formats.plate_formats import russian
from workshop.rendering.plateless.lookalikes import (
    KINDS,
    WORDS,
    caption,
    digits,
    draw_lookalike,
    phone,
)


@pytest.mark.parametrize("kind", KINDS)
def test_the_seed_decides_how_a_thing_looks(kind: str) -> None:
    first, same, other = (draw_lookalike(np.random.default_rng(seed), kind) for seed in (5, 5, 6))
    assert first.dtype == np.uint8
    assert first.shape[2] == 3
    assert np.array_equal(first, same)
    assert first.shape != other.shape or (first != other).any()


def is_plate(text: str) -> bool:
    plain = "".join(char for char in text if char.isalnum())
    return any(russian().format_of(plain, lines) for lines in (1, 2))


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("number", ["", "7", "24", "123", "1234"])
def test_no_words_are_the_text_of_a_plate(word: str, number: str) -> None:
    assert not is_plate(word + number)
    assert not is_plate(number + word)


def test_no_number_is_the_text_of_a_plate() -> None:
    rng = np.random.default_rng(1)
    numbers = [phone(rng) for _ in range(50)] + [digits(rng, 13), "199A"]
    assert not any(map(is_plate, numbers))
    assert min(sum(char.isdigit() for char in number) for number in numbers[:50]) >= 10


def test_captions_are_dates_with_the_time() -> None:
    rng = np.random.default_rng(2)
    assert {len(caption(rng)) for _ in range(9)} == {len("2024-01-02 03:04:05")}
