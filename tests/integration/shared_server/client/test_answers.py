"""Requests of a client to a real server for some outputs, or for part of a picture."""

from orchestrator.client import PlateClient
from orchestrator.plates import Plate
from tests.client.client_only import ClientOnly
from tests.samples import STREET, TEXTS


def test_texts_alone_come_with_boxes_and_nothing_else(client: PlateClient) -> None:
    whole, asked = client.recognize(STREET), client.recognize(STREET, outputs=["texts"])
    assert asked.texts == whole.texts == TEXTS
    assert [*asked] == [Plate(plate.xyxy, text=plate.text) for plate in whole]


def test_boxes_alone_are_there_without_reading(client: PlateClient) -> None:
    found = client.recognize(STREET, outputs=[])
    assert [*found] == [Plate(plate.xyxy) for plate in client.recognize(STREET)]


def test_a_client_that_is_installed_alone_recognises(client_only: ClientOnly, wire) -> None:
    done = client_only.plates("recognize", STREET, "--url", wire.url)
    assert done.returncode == 0
    assert done.stderr.startswith("1 picture in ")
    assert all(text in done.stdout for text in TEXTS)
