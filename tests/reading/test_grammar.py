"""Characters that a grammar allows at each position, and texts whose region exists."""

import math
from dataclasses import replace

import pytest

from orchestrator.formats.plate_formats import Formats, PlateFormat, Region, russian
from orchestrator.reading.grammar import Grammar

MINE = Formats(
    "01ABD",
    (PlateFormat("mine", ("LRR", "RL/D", "Ld", "RDD")), PlateFormat("bare", ("DD",))),
    (Region("here", ("01", "1")),),
    letters="AB",
    unknown_region_nats=2.0,
)


def layouts_of(text: str, grammar: Grammar) -> int:
    """As the beam search finds them: the layouts that the text has."""
    layouts = (1 << len(grammar.layouts)) - 1
    for at, char in enumerate(text):
        layouts &= grammar.after[at][grammar.alphabet.index(char)]
    return layouts & grammar.complete[len(text)]


def is_known(text: str, formats: Formats = MINE, lines: int = 1) -> bool:
    grammar = replace(Grammar.of(formats, lines), unknown_factor=0.0)
    layouts = layouts_of(text, grammar)
    assert layouts
    return grammar.prior_of(text, layouts) > 0


@pytest.mark.parametrize(
    ("text", "has_known_region"),
    [
        pytest.param("A01", True, id="a code"),
        pytest.param("A10", False, id="no code"),
        pytest.param("100", True, id="a code of one digit in front"),
        pytest.param("000", False, id="no code of one digit"),
        pytest.param("AD", True, id="a layout without region"),
        pytest.param("10", True, id="another format without region"),
    ],
)
def test_a_text_names_a_region_that_exists_or_not(text: str, has_known_region: bool) -> None:
    assert is_known(text) == has_known_region


def test_a_code_in_the_upper_line_is_found() -> None:
    assert [is_known(text, lines=2) for text in ("1A0", "0A0")] == [True, False]


@pytest.mark.parametrize(
    ("text", "has_known_region"),
    [("A001AA77", True), ("A001AA00", False), ("B840OK197", True), ("B840OK191", False),
     ("3425EE00", True), ("AB123400", True), ("167D00100", False),
     ("A001AA01", True), ("A001AA99", True), ("A001AA977", True), ("A001AA999", False)],
)  # fmt: skip
def test_russian_texts(text: str, has_known_region: bool) -> None:
    assert is_known(text, russian()) == has_known_region


def test_a_text_that_fits_two_layouts_needs_one_region_of_them() -> None:
    assert is_known("AP947756", russian())  # a trailer of 56; there is a taxi's 756, too
    assert not is_known("AP12300", russian())


def test_the_weight_becomes_a_factor_and_none_is_none() -> None:
    assert Grammar.of(MINE).unknown_factor == pytest.approx(math.exp(-2))
    assert Grammar.free("01A").unknown_factor == 1


def test_of_a_common_and_a_rare_layout_of_a_text_the_common_counts() -> None:
    formats = (
        PlateFormat("rare", ("LD",), rare_nats=2.0),
        PlateFormat("rarer", ("DD", "DL"), rare_nats=3.0),
        PlateFormat("common", ("LL",)),
    )
    grammar = Grammar.of(Formats("01A", formats))
    layouts = [0b0001, 0b0010, 0b0100, 0b1000, 0b1001, 0b0011]
    logarithms = [-2.0, -3.0, -3.0, 0.0, 0.0, -2.0]
    assert [math.log(grammar.prior_of("", bits)) for bits in layouts] == pytest.approx(logarithms)


def test_letters_that_stand_for_themselves_are_allowed_there_alone() -> None:
    grammar = Grammar.of(russian())
    d = russian().alphabet.index("D")
    assert [at for at in range(10) if grammar.after[at][d]] == [3, 4]
