"""What a client can ask a real server for beside everything about every plate."""

from pathlib import Path

import pytest

from orchestrator.client import PlateClient
from orchestrator.errors import ParameterError
from orchestrator.plates import Plate
from orchestrator.settings import Settings

STREET = Path(__file__).resolve().parents[1] / "data" / "street.jpg"


def test_texts_alone_come_with_boxes_and_nothing_else(client: PlateClient) -> None:
    whole, asked = client.recognize(STREET), client.recognize(STREET, outputs=["texts"])
    assert asked.texts == whole.texts == ["A123BC77", "TO05577", "M456OP199"]
    assert [*asked] == [Plate(plate.xyxy, text=plate.text) for plate in whole]


def test_boxes_alone_are_there_without_reading(client: PlateClient) -> None:
    found = client.recognize(STREET, outputs=[])
    assert [*found] == [Plate(plate.xyxy) for plate in client.recognize(STREET)]


def test_an_output_that_there_is_not_is_refused_before_anything_is_sent() -> None:
    with PlateClient("localhost:1") as client, pytest.raises(ParameterError, match=r"got text$"):
        client.recognize(STREET, outputs=["text"])


def test_the_operators_settings_can_be_asked_for(client: PlateClient) -> None:
    assert client.server_settings() == Settings()
