import pytest

from orchestrator.plates import FORMATS, Plate, PlateFormat, Plates, format_of


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("B840OK197", "ru_car"),
        ("A001AA77", "ru_car"),
        ("AP94756", "ru_taxi"),
        ("HO720654", "ru_trailer"),
        ("TK647C77", "ru_transit"),
        ("3425EE43", "ru_military"),
        ("A123477", "ru_police"),
        pytest.param("", "", id="empty"),
        pytest.param("B84OOK197", "", id="letter where a digit belongs"),
        pytest.param("B840OK1977", "", id="too long"),
        pytest.param("D123BC77", "", id="letter no plate has"),
        pytest.param("b840ok197", "", id="lower case"),
    ],
)
def test_format_of(text: str, name: str) -> None:
    assert format_of(text) == name


def test_formats_have_distinct_names() -> None:
    assert len({plate_format.name for plate_format in FORMATS}) == len(FORMATS)


@pytest.mark.parametrize("layout", ["", "LDX", "L" * 10])
def test_a_layout_that_no_plate_can_have_is_refused(layout: str) -> None:
    with pytest.raises(ValueError, match="layout of mine: wanted"):
        PlateFormat("mine", (layout,))


def test_no_plates_make_an_empty_table_with_columns() -> None:
    table = Plates().to_dataframe()
    assert len(table) == 0
    assert list(table.columns[:6]) == ["x0", "y0", "x1", "y1", "detection_score", "text"]


def test_the_table_has_a_row_per_plate() -> None:
    table = Plates((Plate((1, 2, 3, 4), text="A001AA77"), Plate((5, 6, 7, 8)))).to_dataframe()
    assert table["text"].tolist() == ["A001AA77", ""]
    assert table.loc[1, ["x0", "y0", "x1", "y1"]].tolist() == [5, 6, 7, 8]


def test_plates_are_a_sequence() -> None:
    plates = Plates((Plate((0, 0, 1, 1), text="A001AA77"), Plate((0, 0, 2, 2))))
    assert plates[0].text == "A001AA77"
    assert plates[1:].texts == [""]
    assert [plate.xyxy[2] for plate in plates] == [1, 2]
