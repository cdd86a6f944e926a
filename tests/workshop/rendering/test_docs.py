"""The country of docs/countries.md, as a folder outside the project."""

import re
from pathlib import Path

import numpy as np
import pytest

from workshop.rendering.country import Country, country_of
from workshop.rendering.samples import synth
from workshop.rendering.samples.synth import render_samples
from workshop.rendering.scenery import scene

PAGE = (Path(__file__).parents[3] / "docs" / "countries.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def atlantis(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page's two files; returns the formats'."""
    folder = tmp_path_factory.mktemp("atlantis")
    for name, language in (("formats.toml", "toml"), ("renderer.py", "python")):
        (block,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
        (folder / name).write_text(block, encoding="utf-8")
    return folder / "formats.toml"


@pytest.fixture(scope="module")
def country(atlantis: Path) -> Country:
    return country_of(atlantis)


def test_samples_of_atlantis_have_its_formats(country: Country) -> None:
    batch = render_samples(40, 0, country=country).readable
    formats = country.formats
    assert {formats.format_of(text, 1) for text in batch.texts} == {"long"}
    assert {formats.format_of(text, 2) for text in batch.texts} == {"square"}
    assert {formats.region_of(text).name for text in batch.texts} == {"Upper City", "Harbour"}
    square = np.isnan(batch.corners).any(axis=(1, 2))
    assert 0 < square.sum() < 15


def test_a_street_of_atlantis_has_long_and_square_plates(country: Country) -> None:
    street = scene(["17AC123", "01MN/456"], (800, 600), country=country)
    width, height = street.xyxy[:, 2] - street.xyxy[:, 0], street.xyxy[:, 3] - street.xyxy[:, 1]
    assert street.texts == ("17AC123", "01MN456")
    assert (width / height).tolist() == pytest.approx([480 / 110, 300 / 200], rel=0.2)


def test_a_sheet_of_atlantis_is_written(atlantis: Path, tmp_path: Path) -> None:
    synth.main(["--formats", str(atlantis), "--sheet", str(tmp_path / "sheet.png")])
    assert (tmp_path / "sheet.png").read_bytes().startswith(b"\x89PNG")
