"""The weights for Russia and its neighbours read a plate of each country, and tell the country."""

import numpy as np
import pytest

from orchestrator.arrays import Infer
from orchestrator.imaging.decoding import read_picture
from orchestrator.networks.engines import Engine
from orchestrator.networks.export import load_networks
from orchestrator.networks.registry import NETWORKS
from orchestrator.networks.weights import WEIGHTS, check_listed
from orchestrator.pipeline import recognize
from tests.samples import STREET
from workshop.rendering.country import country_of
from workshop.rendering.scenery import scene

NEIGHBOURS = WEIGHTS / "neighbours"
SIZE_WH = (960, 720)


@pytest.fixture(scope="module", params=[Engine.OPENVINO_INT8, Engine.TORCHSCRIPT])
def infer(request: pytest.FixtureRequest) -> Infer:
    return load_networks(NEIGHBOURS, engine=request.param)


@pytest.mark.parametrize(
    ("text", "shown_text", "format_name"),
    [
        pytest.param("Ⓚ123ABC02", "123ABC02", "kz_car", id="Kazakhstan"),
        pytest.param("Ⓑ1234AB7", "1234AB7", "by_car", id="Belarus"),
        pytest.param("ⓊAB1234CE", "AB1234CE", "ua_car", id="Ukraine"),
        pytest.param("Ⓐ12AB345", "12AB345", "am_car", id="Armenia"),
        pytest.param("01Ⓠ123ABC", "01123ABC", "kg_car", id="Kyrgyzstan"),
        pytest.param("01A123BCⓏ", "01A123BC", "uz_car", id="Uzbekistan"),
        pytest.param("ⒼAB123CD", "AB123CD", "ge_car", id="Georgia"),
    ],
)
def test_a_plate_of_a_neighbour_is_read(
    infer: Infer, text: str, shown_text: str, format_name: str
) -> None:
    street = scene([text], SIZE_WH, seed=1, country=country_of(NEIGHBOURS / "formats.toml"))
    (plate,) = recognize(np.asarray(street.picture), infer)
    assert (plate.text, plate.format) == (shown_text, format_name)
    assert plate.country
    assert plate.country.code == format_name[:2]
    assert plate.country.score > 0.9


def test_russian_plates_are_read_as_by_the_weights_for_russia() -> None:
    both = (load_networks(weights, engine=Engine.OPENVINO) for weights in (NEIGHBOURS, WEIGHTS))
    plates, russian_plates = (recognize(read_picture(STREET), infer) for infer in both)
    assert plates.texts == russian_plates.texts
    for plate, russian_plate in zip(plates, russian_plates, strict=True):
        assert plate.country
        assert (plate.country.code, plate.format) == ("ru", russian_plate.format)
        assert plate.corners == russian_plate.corners


def test_every_file_is_listed() -> None:
    for network in NETWORKS.values():
        check_listed(NEIGHBOURS / network.weights)
