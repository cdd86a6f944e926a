"""Texts that are on no plate."""

import pytest

from plate_cameras.store.lists.doubtful_texts import explain_doubt


@pytest.mark.parametrize(
    "text",
    ["A123BC77", "A123BC777", "TO05577", "AB12377", "1234AB77", "A123477", "004CD177", "A000AA01"],
)
def test_texts_of_plates_are_not_doubtful(text: str) -> None:
    assert explain_doubt(text, text) == ""


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        pytest.param("AO12BC77", "A012BC77", id="O for 0"),
        pytest.param("AO12BC777", "A012BC777", id="O for 0 beside a longer code"),
        pytest.param("012300777", "O123OO777", id="0 for O"),
        pytest.param("A1238C77", "A123BC77", id="8 for B"),
        pytest.param("A12\u0417BC77", "A123BC77", id="a letter for 3"),
        pytest.param("TOO5577", "TO05577", id="a taxi"),
        pytest.param("\u041f\u041bOXO\u0419", "A123BC77", id="a word"),
        pytest.param("D777DD77", "A123BC77", id="a letter of no plate"),
        pytest.param("A123BC777777", "A123BC77", id="too long"),
        pytest.param("A123BC", "A123BC77", id="no region"),
        pytest.param("A123BC7", "A123BC77", id="half a region"),
    ],
)
def test_another_text_is_proposed(text: str, meant: str) -> None:
    assert explain_doubt(text, text) == f"text: wanted a plate's text such as {meant}, got {text!r}"


@pytest.mark.parametrize("code", ["00", "000", "077", "999"])
def test_a_region_that_does_not_exist_is_doubtful(code: str) -> None:
    assert explain_doubt(f"A123BC{code}", "x") == (
        f"text: wanted a plate's text with a known region, got {code} in 'x'"
    )
