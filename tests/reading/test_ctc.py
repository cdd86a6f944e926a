import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from orchestrator.errors import ModelError
from orchestrator.formats.plate_formats import Formats, PlateFormat, Region, russian
from orchestrator.reading.ctc import Candidates, beam_search, best_paths, collapse, decode
from orchestrator.reading.grammar import Grammar

STEPS = 18
RUSSIAN = russian()
ALPHABET, BLANK = RUSSIAN.alphabet, RUSSIAN.blank
GRAMMAR = Grammar.of(RUSSIAN)


def classes_of(text: str) -> list[int]:
    """One step a character with a blank between, so that repeats stay apart."""
    steps = [BLANK] * STEPS
    for index, char in enumerate(text):
        steps[2 * index] = ALPHABET.index(char)
    return steps


def lattice_of(text: str, sure: float = 0.99) -> np.ndarray:
    """[T, C] probabilities of which each step gives the rest evenly to the other classes."""
    lattice = np.full((STEPS, BLANK + 1), (1 - sure) / BLANK)
    lattice[np.arange(STEPS), classes_of(text)] = sure
    return lattice


def search(lattice: np.ndarray, grammar: Grammar = GRAMMAR) -> Candidates:
    (candidates,) = beam_search(lattice[None], grammar)
    return candidates


def path_of(lattice: np.ndarray) -> tuple[str, tuple[float, ...]]:
    (path,) = best_paths(lattice[None], ALPHABET)
    return path


def logits_of(*texts: str, sure: float = 0.99) -> torch.Tensor:
    return torch.stack([torch.from_numpy(np.log(lattice_of(t, sure).T)) for t in texts]).float()


@pytest.mark.parametrize(
    ("classes", "text"),
    [
        pytest.param([], [], id="nothing"),
        pytest.param([9, 9, 9], [], id="blanks"),
        pytest.param([1, 1, 2], [1, 2], id="repeat merges"),
        pytest.param([1, 9, 1], [1, 1], id="blank separates"),
        pytest.param([9, 1, 1, 9, 9, 2, 2], [1, 2], id="mixed"),
    ],
)
def test_collapse(classes: list[int], text: list[int]) -> None:
    assert collapse(classes, blank=9) == text


def test_decode_keeps_the_order_of_the_plates() -> None:
    readings = decode(logits_of("A001AA77", "B840OK197"), GRAMMAR)
    assert [reading.raw_text for reading in readings] == ["A001AA77", "B840OK197"]


def test_a_character_score_is_the_best_of_its_steps() -> None:
    lattice = np.full((3, BLANK + 1), 0.0)
    lattice[0, [1, BLANK]] = 0.6, 0.4
    lattice[1, [1, BLANK]] = 0.9, 0.1
    lattice[2, [1, BLANK]] = 0.2, 0.8
    assert path_of(lattice) == ("1", (0.9,))


def test_beam_search_sums_over_alignments() -> None:
    # Two steps, one character: "1" is read as 1-, -1 or 11; the best path alone would say blank.
    lattice = np.zeros((2, BLANK + 1))
    lattice[:, 1], lattice[:, BLANK] = 0.4, 0.6
    grammar = Grammar.of(Formats(ALPHABET, (PlateFormat("digit", ("D",)),)))
    assert path_of(lattice)[0] == ""
    ((text, score),) = search(lattice, grammar)
    assert text == "1"
    assert score == pytest.approx(0.4 * 0.6 + 0.6 * 0.4 + 0.4 * 0.4)


def test_beam_search_needs_a_blank_between_equal_characters() -> None:
    lattice = np.zeros((2, BLANK + 1))
    lattice[:, 1] = 1.0
    grammar = Grammar.of(Formats(ALPHABET, (PlateFormat("digits", ("D", "DD")),)))
    assert search(lattice, grammar) == (("1", 1.0),)


def test_beam_search_puts_a_digit_where_the_format_wants_one() -> None:
    lattice = lattice_of("B84OOK197", sure=0.9)
    lattice[6, ALPHABET.index("0")] = 0.09
    text, score = search(lattice)[0]
    assert path_of(lattice)[0] == "B84OOK197"
    assert text == "B840OK197"
    assert score < 0.1


@pytest.mark.parametrize("seed", range(5))
def test_beam_search_agrees_with_going_through_every_alignment(seed: int) -> None:
    rng = np.random.default_rng(seed)
    lattice = np.zeros((5, BLANK + 1))
    classes = [1, 2, ALPHABET.index("A"), BLANK]
    lattice[:, classes] = rng.dirichlet(np.ones(4), size=5)
    small = lattice[:, classes]
    names = {0: "1", 1: "2", 2: "A", 3: ""}
    totals: dict[str, float] = {}
    for path in itertools.product(range(4), repeat=5):
        text = "".join(names[c] for c in collapse(path, blank=3))
        totals[text] = totals.get(text, 0.0) + float(small[range(5), path].prod())
    formats = (PlateFormat("short", ("LD", "LDD")),)
    texts = {text: p for text, p in totals.items() if Formats(ALPHABET, formats).format_of(text)}
    best = sorted(texts.items(), key=lambda item: -item[1])[:5]
    candidates = search(lattice, Grammar.of(Formats(ALPHABET, formats)))
    assert [text for text, _ in candidates] == [text for text, _ in best]
    assert [p for _, p in candidates] == pytest.approx([p for _, p in best])
    # So does an alphabet of fewer characters than a step tries.
    few_characters = search(small, Grammar.of(Formats("12A", formats)))
    assert [text for text, _ in few_characters] == [text for text, _ in best]


def test_a_plates_candidates_do_not_depend_on_its_neighbours() -> None:
    rng = np.random.default_rng(3)
    logits = torch.from_numpy(rng.normal(0, 3, (6, BLANK + 1, STEPS))).float()
    alone = [decode(logit[None], GRAMMAR)[0].candidates for logit in logits]
    together = [reading.candidates for reading in decode(logits, GRAMMAR)]
    texts = [[text for text, _ in candidates] for candidates in alone]
    assert [[text for text, _ in candidates] for candidates in together] == texts
    for beside_others, by_itself in zip(together, alone, strict=True):
        assert [p for _, p in beside_others] == pytest.approx([p for _, p in by_itself])


def test_a_free_search_finds_texts_without_a_format() -> None:
    (reading,) = decode(logits_of("AAAA1"), Grammar.free(ALPHABET))
    assert reading.candidates[0][0] == "AAAA1"
    assert decode(logits_of("AAAA1"), GRAMMAR)[0].candidates[:1] != reading.candidates[:1]


def test_a_lattice_of_blanks_has_no_candidate() -> None:
    (reading,) = decode(logits_of("", sure=1 - 1e-9), GRAMMAR)
    assert reading.raw_text == ""
    assert reading.candidates == ()


def test_temperature_makes_scores_humbler_and_keeps_the_text() -> None:
    ((sharp,), (soft,)) = (
        decode(logits_of("A001AA77"), GRAMMAR, temperature=temperature)
        for temperature in (1.0, 2.0)
    )
    assert soft.candidates[0][0] == sharp.candidates[0][0]
    assert soft.candidates[0][1] < sharp.candidates[0][1]


def test_logits_with_other_classes_are_refused() -> None:
    with pytest.raises(ModelError, match=r"wanted \[N, 24, T\], got \[1, 23, 18\]"):
        decode(torch.zeros(1, 23, STEPS), GRAMMAR)


def with_regions(nats: float) -> Grammar:
    """A letter and a digit that is the region: 1 exists, 2 and 3 do not."""
    formats = (PlateFormat("short", ("LR",)),)
    here = (Region("here", ("1",)),)
    return Grammar.of(Formats(ALPHABET, formats, here, unknown_region_nats=nats))


def doubtful(chances: dict[str, float]) -> np.ndarray:
    """[T, C] of an A, a blank, and digits with these chances."""
    lattice = np.zeros((3, BLANK + 1))
    lattice[0, ALPHABET.index("A")] = lattice[1, BLANK] = 1.0
    for char, chance in chances.items():
        lattice[2, ALPHABET.index(char)] = chance
    return lattice


def test_a_region_that_does_not_exist_ranks_behind_one_that_does() -> None:
    lattice = doubtful({"1": 0.3, "2": 0.7})
    assert search(lattice, with_regions(0))[0] == ("A2", pytest.approx(0.7))
    scores = dict(search(lattice, with_regions(2)))
    odds = 0.3 / (0.7 * math.exp(-2))
    assert [*scores] == ["A1", "A2"]
    assert scores["A1"] / scores["A2"] == pytest.approx(odds)
    assert sum(scores.values()) == pytest.approx(1)


def test_a_reading_that_is_sure_of_its_region_is_believed() -> None:
    text, score = search(doubtful({"1": 0.001, "2": 0.999}), with_regions(3))[0]
    assert text == "A2"
    assert score == pytest.approx(0.999 * math.exp(-3) / (0.001 + 0.999 * math.exp(-3)))


def test_texts_without_a_format_keep_their_part_of_the_probability() -> None:
    lattice = doubtful({"1": 0.2, "2": 0.4, "B": 0.4})
    scores = dict(search(lattice, with_regions(2)))
    remainder = 0.4 / (0.2 + 0.4 * math.exp(-2) + 0.4)
    assert sum(scores.values()) == pytest.approx(1 - remainder)


def with_a_rare_format(nats: float) -> Grammar:
    """A letter and a digit, which is common, or three digits, which is rare."""
    formats = (PlateFormat("common", ("LD",)), PlateFormat("rare", ("DDD",), rare_nats=nats))
    return Grammar.of(Formats(ALPHABET, formats))


def test_a_text_of_a_rare_format_ranks_behind_one_of_a_common_format() -> None:
    lattice = np.zeros((3, BLANK + 1))
    for step, chances in enumerate(({"A": 0.4, "1": 0.6}, {"2": 1.0}, {"3": 0.6})):
        for char, chance in chances.items():
            lattice[step, ALPHABET.index(char)] = chance
    lattice[2, BLANK] = 0.4  # 123 has 0.6 * 0.6, A2 has 0.4 * 0.4
    assert search(lattice, with_a_rare_format(0))[0] == ("123", pytest.approx(0.36))
    scores = dict(search(lattice, with_a_rare_format(2)))
    rare = 0.36 * math.exp(-2)
    assert scores == pytest.approx({"A2": 0.16 / (0.64 + rare), "123": rare / (0.64 + rare)})


def test_a_reading_that_only_a_rare_format_fits_keeps_its_score() -> None:
    lattice = np.zeros((3, BLANK + 1))
    lattice[[0, 1, 2], [1, 2, 3]] = 1.0
    (text, score), *_ = search(lattice, with_a_rare_format(20))
    assert (text, score) == ("123", pytest.approx(1))


@pytest.mark.parametrize("nats", [0.0, 3.0, 20.0])
def test_scores_stay_a_probability_whatever_the_weight(nats: float) -> None:
    rng = np.random.default_rng(4)
    logits = rng.normal(0, 3, (20, BLANK + 1, STEPS)).astype(np.float32)
    grammar = Grammar.of(replace(RUSSIAN, unknown_region_nats=nats))
    for reading in decode(logits, grammar):
        scores = [score for _, score in reading.candidates]
        assert scores == sorted(scores, reverse=True)
        assert 0 <= sum(scores) <= 1 + 1e-9
