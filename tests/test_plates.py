import json
from dataclasses import fields

from orchestrator.plates import Plate, PlateRegion, Plates


def test_no_plates_make_an_empty_table_with_columns() -> None:
    table = Plates().to_dataframe()
    assert len(table) == 0
    first = ["text", "text_score", "detection_score", "x0", "y0", "x1", "y1"]
    assert list(table.columns[:7]) == first


def test_the_table_has_everything_that_a_plate_has() -> None:
    more = {"x0", "y0", "x1", "y1", "region_code"}
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
    assert plates[1:].texts == [""]
    assert [plate.xyxy[2] for plate in plates] == [1, 2]


def test_plates_are_told_as_json_can_hold_them() -> None:
    assert Plates().to_dict() == {"plates": []}
    told = json.dumps(Plates((Plate((1, 2, 3, 4), text="A001AA77"),)).to_dict())
    (plate,) = json.loads(told)["plates"]
    assert set(plate) == {f.name for f in fields(Plate)}
    assert (plate["xyxy"], plate["text"]) == ([1, 2, 3, 4], "A001AA77")
