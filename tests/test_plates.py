import json
import warnings
from dataclasses import fields, replace
from pathlib import Path

import pandas as pd
import pytest

from orchestrator.plates import Plate, PlateCountry, PlateRegion, Plates, native_text


def test_no_plates_make_an_empty_table_with_columns() -> None:
    table = Plates().to_dataframe()
    assert len(table) == 0
    first = ["text", "text_score", "detection_score", "x0", "y0", "x1", "y1"]
    assert list(table.columns[:7]) == first


def test_the_table_has_everything_that_a_plate_has() -> None:
    more = {"x0", "y0", "x1", "y1", "region_code", "text_native", "country_score"}
    assert set(Plates().to_dataframe()) == {f.name for f in fields(Plate)} - {"xyxy"} | more


def test_the_table_has_a_row_per_plate() -> None:
    table = Plates((Plate((1, 2, 3, 4), text="A001AA77"), Plate((5, 6, 7, 8)))).to_dataframe()
    assert table["text"].tolist() == ["A001AA77", ""]
    assert table.loc[1, ["x0", "y0", "x1", "y1"]].tolist() == [5, 6, 7, 8]


def test_a_plates_region_has_two_columns_empty_where_there_is_none() -> None:
    moscow = Plate((1, 2, 3, 4), region=PlateRegion("77", "Moscow"))
    table = Plates((moscow, Plate((5, 6, 7, 8)))).to_dataframe()
    assert table["region_code"].tolist() == ["77", ""]
    assert table["region"].tolist() == ["Moscow", ""]


def test_a_plates_country_has_two_columns_empty_where_there_is_none() -> None:
    kazakh = Plate((1, 2, 3, 4), country=PlateCountry("kz", 0.5))
    table = Plates((kazakh, Plate((5, 6, 7, 8)))).to_dataframe()
    assert table["country"].tolist() == ["kz", ""]
    assert table["country_score"].fillna(-1).tolist() == [0.5, -1]
    assert Plates((UNREAD,)).to_dataframe().dtypes["country_score"] == "float64"


def test_a_plates_region_is_an_object_in_json() -> None:
    plates = Plates((Plate((1, 2, 3, 4), region=PlateRegion("77", "Moscow")), Plate((5, 6, 7, 8))))
    regions = [plate["region"] for plate in plates.to_dict()["plates"]]
    assert regions == [{"code": "77", "name": "Moscow"}, None]


READ = Plate(
    (222.37, 336.52, 1426.28, 1380.49), 0.951234, "M456OP199", 0.999443, "M456OP199",
    (0.99,) * 9, (("M456OP199", 0.99),) * 5, ((222.5, 336.5),) * 4, "ru_military",
)  # fmt: skip
UNREAD = Plate((1.4, 1.6, 3.0, 4.0), 0.6, "", 0.4, "A001AA7")


def test_plates_print_as_a_table_of_80_columns() -> None:
    assert str(Plates((READ, UNREAD))).splitlines() == [
        "     text  text_score  raw_text      format  detection_score  x0  y0   x1   y1",
        "M456OP199        1.00 M456OP199 ru_military             0.95 222 337 1426 1380",
        "                 0.40   A001AA7                         0.60   1   2    3    4",
    ]


def test_unread_plates_have_no_text_among_the_texts() -> None:
    plates = Plates((UNREAD, READ))
    assert (plates.texts, len(plates)) == (["M456OP199"], 2)


@pytest.mark.parametrize(
    ("plates", "text"),
    [
        pytest.param(Plates(), "Plates(0)", id="none"),
        pytest.param(Plates((READ,)), "Plates(1: M456OP199)", id="one"),
        pytest.param(Plates((UNREAD, READ)), "Plates(2: M456OP199, 1 without text)", id="unread"),
        pytest.param(Plates((READ,) * 500), f"Plates(500: {'M456OP199, ' * 5}...)", id="very many"),
        pytest.param(
            READ, "Plate('M456OP199', text_score=1.00, xyxy=(222, 337, 1426, 1380))", id="a plate"
        ),
    ],
)
def test_a_repr_fits_one_line(plates: Plates | Plate, text: str) -> None:
    assert repr(plates) == text


@pytest.mark.parametrize("format_name", ["ru_military", "ru_diplomatic", ""])
def test_a_plate_has_its_text_in_the_letters_that_are_on_it(format_name: str) -> None:
    plate = replace(READ, format=format_name)
    assert plate.text_native == native_text("M456OP199", format_name)
    assert plate.to_dict()["text_native"] == plate.text_native
    assert Plates((plate,)).to_dataframe()["text_native"].tolist() == [plate.text_native or ""]


def test_tables_have_the_same_types_with_and_without_plates() -> None:
    empty, full = Plates().to_dataframe(), Plates((READ, UNREAD)).to_dataframe()
    assert empty.dtypes.equals(full.dtypes)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        joined_table = pd.concat([empty, full, empty], ignore_index=True)
    pd.testing.assert_frame_equal(joined_table, full)


@pytest.mark.parametrize("plates", [Plates(), Plates((READ, UNREAD)), Plates((UNREAD,))])
def test_tables_can_be_written_as_parquet(plates: Plates, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    table = plates.to_dataframe()
    table.to_parquet(tmp_path / "plates.parquet")
    again = pd.read_parquet(tmp_path / "plates.parquet")
    assert again["text"].tolist() == table["text"].tolist()
    assert list(map(list, again["candidates"])) == list(map(list, table["candidates"]))


def test_no_plates_print_as_that() -> None:
    assert str(Plates()) == "no plates"


def test_a_text_that_is_not_shown_can_be_marked() -> None:
    assert Plates((UNREAD,)).to_text(unread="?").splitlines()[1].split()[0] == "?"


def test_a_notebook_shows_the_same_table() -> None:
    html = Plates((READ,))._repr_html_()
    assert "<th>text</th>" in html
    assert "<td>M456OP199</td>" in html
    assert "<td>1380</td>" in html
    assert "<td>" not in Plates()._repr_html_()


def test_plates_are_a_sequence() -> None:
    plates = Plates((Plate((0, 0, 1, 1), text="A001AA77"), Plate((0, 0, 2, 2))))
    assert plates[0].text == "A001AA77"
    assert [plate.text for plate in plates[1:]] == [""]
    assert [plate.xyxy[2] for plate in plates] == [1, 2]


def test_plates_are_told_as_json_can_hold_them() -> None:
    assert Plates().to_dict() == {"plates": []}
    document = json.dumps(Plates((Plate((1, 2, 3, 4), text="A001AA77"),)).to_dict())
    (plate,) = json.loads(document)["plates"]
    assert set(plate) == {f.name for f in fields(Plate)} - {"country"} | {"text_native"}
    assert (plate["xyxy"], plate["text"]) == ([1, 2, 3, 4], "A001AA77")


def test_a_country_is_told_only_where_the_reader_knows_several() -> None:
    plate = Plate((1, 2, 3, 4), country=PlateCountry("kz", 0.98765))
    assert plate.to_dict()["country"] == {"code": "kz", "score": 0.9877}


WHOLE = (100.0, 100.0, 200.0, 125.0)


@pytest.mark.parametrize(
    ("xyxy", "is_cut"),
    [
        pytest.param((3.0, 100.0, 103.0, 125.0), False, id="3 % of its width from the left"),
        pytest.param((2.9, 100.0, 102.9, 125.0), True, id="nearer to the left"),
        pytest.param((538.0, 100.0, 638.0, 125.0), True, id="at the right"),
        pytest.param((100.0, 2.5, 200.0, 27.5), False, id="2.5 pixels from the top"),
        pytest.param((100.0, 2.4, 200.0, 27.4), True, id="nearer to the top"),
        pytest.param((100.0, 4.7, 200.0, 84.7), True, id="nearer than 6 % of its height"),
        pytest.param((100.0, 455.0, 200.0, 480.0), True, id="at the bottom"),
        pytest.param((2.4, 100.0, 32.4, 107.5), True, id="2.5 pixels from it, though small"),
        pytest.param((0.0, 0.0, 383.0, 100.0), True, id="large, in the corner"),
        pytest.param((0.0, 0.0, 384.0, 100.0), False, id="as large as its picture nearly"),
    ],
)
def test_a_plate_near_to_an_edge_of_its_picture_may_be_cut(xyxy, is_cut: bool) -> None:
    assert Plate(xyxy).may_be_cut((640, 480)) is is_cut


def test_a_plate_with_a_corner_at_the_edge_may_be_cut() -> None:
    corners = ((100.0, 100.0), (199.0, 100.0), (199.0, 125.0), (100.0, 125.0))
    assert Plate(WHOLE, corners=corners).may_be_cut((202, 480))
    assert not Plate(WHOLE, corners=corners).may_be_cut((204, 480))
    outside = (*corners[:2], (203.0, 125.0), corners[3])
    assert Plate(WHOLE, corners=outside).may_be_cut((204, 480))
