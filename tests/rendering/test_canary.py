"""The picture of the health check: small, and read for certain by the networks of its country."""

from pathlib import Path

import pytest

from orchestrator import load_networks, recognize
from orchestrator.canary import read_canary
from orchestrator.formats import COUNTRIES
from orchestrator.images import decode
from orchestrator.pipeline import Infer
from rendering.canary import draw_canary, main
from rendering.country import country_of, russia


@pytest.fixture(scope="module")
def networks() -> Infer:
    return load_networks()


@pytest.mark.parametrize("seed", range(3))
def test_the_networks_read_what_a_russian_canary_says(networks: Infer, seed: int) -> None:
    file, text = draw_canary(russia(), seed)
    (plate,) = recognize(decode(file), networks)
    assert plate.text == text
    assert plate.text_score > 0.9


def test_a_canary_is_small_and_bears_a_plate_of_the_first_format() -> None:
    kazakhstan = country_of(COUNTRIES / "kazakhstan" / "formats.toml")
    file, text = draw_canary(kazakhstan, seed=5)
    assert len(file) < 20_000
    assert decode(file).shape == (480, 640, 3)
    assert kazakhstan.formats.format_of(text) == "kz_car"
    assert (file, text) == draw_canary(kazakhstan, seed=5)


def test_the_command_writes_what_the_service_reads_beside_its_weights(tmp_path: Path) -> None:
    main(["--out", str(tmp_path), "--seed", "2"])
    assert (read_canary(tmp_path).file, read_canary(tmp_path).text) == draw_canary(russia(), 2)
