import pytest

from orchestrator.formats.transliteration import to_cyrillic, to_latin
from orchestrator.plates import native_text

ALL = "ABEKMHOPCTYX"


def test_cyrillic_letters_become_the_latin_ones_again() -> None:
    assert to_latin(to_cyrillic(ALL).lower()) == ALL
    assert not set(to_cyrillic(ALL)) & set(ALL)


@pytest.mark.parametrize("name", ["ru_car", "ru_taxi", "ru_export", "ru_military_square"])
def test_the_letters_of_russian_plates_are_cyrillic(name: str) -> None:
    assert native_text("A123BC77", name) == "\u0410123\u0412\u042177"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        pytest.param("", "", id="nothing read"),
        pytest.param("A123BC77", "", id="no format"),
        pytest.param("", "ru_car", id="no text"),
        pytest.param("004CD177", "ru_diplomatic_head", id="CD"),
        pytest.param("004T00177", "ru_diplomatic", id="T of diplomats"),
        pytest.param("AB123C", "xx_car", id="another country"),
    ],
)
def test_other_plates_have_no_letters_but_latin_ones(text: str, name: str) -> None:
    assert native_text(text, name) is None
