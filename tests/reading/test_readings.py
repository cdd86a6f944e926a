"""Texts that are shown, and crops of plates of one line and two among one another."""

import pytest
import torch

from orchestrator.formats.plate_formats import COUNTRIES, read_formats, russian
from orchestrator.pipeline import with_text
from orchestrator.plates import Plate, PlateCountry, PlateRegion
from orchestrator.reading.ctc import Reading
from orchestrator.reading.reader import Reader, join_readings
from tests.scripted_networks import ScriptedInfer, logits_of, rows

READING = Reading("A001AA7", (0.5,) * 7, (("A001AA77", 0.625), ("A001AA71", 0.25)))


@pytest.mark.parametrize(
    ("threshold", "text", "name"),
    [
        pytest.param(0.625, "A001AA77", "ru_car", id="as sure as wanted"),
        pytest.param(0.626, "", "", id="less sure"),
    ],
)
def test_a_text_is_shown_from_the_threshold_on(threshold: float, text: str, name: str) -> None:
    plate = with_text(Plate(xyxy=(1.0, 2.0, 3.0, 4.0)), READING, threshold, russian())
    assert (plate.xyxy, plate.text, plate.format) == ((1, 2, 3, 4), text, name)
    assert (plate.region is not None) == bool(text)
    assert (plate.text_score, plate.raw_text, plate.candidates) == (
        READING.score,
        READING.raw_text,
        READING.candidates,
    )


@pytest.mark.parametrize(
    ("candidates", "public_candidates", "country"),
    [
        pytest.param(
            (("01Ⓠ123ABC", 0.5), ("01123ABCⓏ", 0.25), ("01Ⓠ123ABD", 0.125)),
            (("01123ABC", 0.75), ("01123ABD", 0.125)),
            ("kg_car", PlateCountry("kg", 0.625 / 0.875)),
            id="one text of two countries",
        ),
        pytest.param(
            (("A001AA77", 0.75),), (("A001AA77", 0.75),), ("ru_car", PlateCountry("ru", 1.0)),
            id="a Russian one",
        ),
        pytest.param((("Ⓤ", 0.0),), (("", 0.0),), ("", None), id="no text"),
        pytest.param((), (), ("", None), id="nothing"),
    ],
)  # fmt: skip
def test_the_country_is_told_and_signs_are_not_shown(
    candidates, public_candidates, country
) -> None:
    formats = read_formats(COUNTRIES / "neighbours" / "formats.toml")
    raw = candidates[0][0] if candidates else ""
    reading = Reading(raw, (0.5,) * len(raw), candidates)
    plate = with_text(Plate(xyxy=(1.0, 2.0, 3.0, 4.0)), reading, 0.6, formats)
    assert plate.candidates == public_candidates
    assert (plate.format, plate.country) == country
    assert plate.raw_text == formats.shown(raw)
    assert len(plate.character_scores) == len(plate.raw_text)


def test_a_region_of_a_signed_plate_is_that_of_its_own_country() -> None:
    formats = read_formats(COUNTRIES / "neighbours" / "formats.toml")
    reading = Reading("Ⓚ123ABC02", (0.5,) * 9, (("Ⓚ123ABC02", 0.9),))
    plate = with_text(Plate(xyxy=(1.0, 2.0, 3.0, 4.0)), reading, 0.6, formats)
    assert plate.region == PlateRegion("02", "Almaty")


def test_readings_have_the_order_of_the_crops_whatever_their_lines() -> None:
    texts, lines = ("A001AA77", "B840OK197", "M456OP19"), (2, 1, 2)
    logits = torch.stack([logits_of(text) for text in texts]).numpy()
    readings = Reader(ScriptedInfer(rows()), russian()).decode(logits, lines)
    assert [reading.candidates[0][0] for reading in readings] == [*texts]
    assert [reading.lines for reading in readings] == [*lines]


def reading(*candidates: tuple[str, float], lines: int = 1) -> Reading:
    return Reading("", (), candidates, lines)


FIRST = reading(("A001AA77", 0.75), ("A001AA71", 0.125))


@pytest.mark.parametrize(
    ("second", "joined_reading"),
    [
        pytest.param(reading(("A001AA77", 0.5)), FIRST, id="the same text"),
        pytest.param(reading(), FIRST, id="nothing"),
        pytest.param(reading(("A001AA71", 0.7), lines=2), FIRST, id="other lines"),
        pytest.param(
            reading(("A001AA71", 0.5), ("A001AA77", 0.25), ("A001AA11", 0.125)),
            reading(("A001AA77", 0.5), ("A001AA71", 0.3125), ("A001AA11", 0.0625)),
            id="another text",
        ),
        pytest.param(
            reading(("A001AA71", 0.72)),
            reading(("A001AA71", 0.4225), ("A001AA77", 0.375)),
            id="the second text of the surer one",
        ),
    ],
)
def test_a_text_that_only_one_of_two_readings_names_is_less_sure(
    second: Reading, joined_reading: Reading
) -> None:
    for result in (join_readings(FIRST, second), join_readings(second, FIRST)):
        assert [text for text, _ in result.candidates] == [
            text for text, _ in joined_reading.candidates
        ]
        assert result.candidates == tuple(
            (text, pytest.approx(p)) for text, p in joined_reading.candidates
        )


def test_the_surer_reading_of_two_lines_counts() -> None:
    surer, less_sure = (
        reading((text, p), lines=2) for text, p in (("A001AA77", 0.7), ("A001AA71", 0.6))
    )
    assert join_readings(surer, less_sure) == join_readings(less_sure, surer) == surer


def test_joined_readings_keep_five_candidates() -> None:
    first, second = (
        reading(*((f"A00{digit}AA{region}", 0.2 - digit / 100) for digit in range(5)))
        for region in (77, 99)
    )
    assert len(join_readings(first, second).candidates) == 5
