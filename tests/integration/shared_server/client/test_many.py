"""Many pictures from one client, by threads and by asyncio, over both protocols."""

import asyncio
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from orchestrator import AsyncPlateClient, PictureResult, PlateClient
from orchestrator.errors import PictureError
from orchestrator.plates import Plate, Plates
from tests.client.client_only import ClientOnly
from tests.integration.conftest import Wire
from tests.samples import STREET, TEXTS

BLACK = np.zeros((64, 96, 3), np.uint8)
PICTURES = [STREET, BLACK, b"no picture", STREET.read_bytes()] * 2


def by_threads(url: str, **options: object) -> list[PictureResult]:
    with PlateClient(url) as client:
        return list(client.recognize_many(iter(PICTURES), **options))


def by_tasks(url: str, **options: object) -> list[PictureResult]:
    async def run() -> list[PictureResult]:
        async with AsyncPlateClient(url) as client:
            return [result async for result in client.recognize_many(iter(PICTURES), **options)]

    return asyncio.run(run())


@pytest.mark.parametrize("recognize", [by_threads, by_tasks])
@pytest.mark.parametrize("options", [{}, {"in_flight": 2}])
def test_each_picture_gets_its_own_result(wire: Wire, recognize: Callable, options: dict) -> None:
    results = recognize(wire.url, **options)
    assert all(result.picture is picture for result, picture in zip(results, PICTURES, strict=True))
    assert [result.error or result.plates.texts for result in results[1::4]] == [[]] * 2
    assert [result.plates.texts for result in (*results[::4], *results[3::4])] == [TEXTS] * 4
    assert {type(result.error) for result in results[2::4]} == {PictureError}


@pytest.mark.parametrize("recognize", [by_threads, by_tasks])
def test_parameters_are_those_of_each(wire: Wire, recognize: Callable) -> None:
    results = recognize(wire.url, max_plates=1, outputs=["texts"])
    assert [len(result.plates) for result in results[::4]] == [1] * 2


@pytest.fixture
def crops() -> Iterator[list[np.ndarray]]:
    grey = np.full((24, 94, 3), 128, np.uint8)
    return [grey] * 6


def test_asyncio_reads_crops_as_threads_do(wire: Wire, crops: list[np.ndarray]) -> None:
    async def run() -> Plates:
        async with AsyncPlateClient(wire.url) as client:
            assert await client.is_ready()
            assert (await client.server_settings()).max_plates > 0
            return await client.read_crops(crops)

    with PlateClient(wire.url) as client:
        assert asyncio.run(run()) == client.read_crops(crops)


def test_texts_alone_come_with_boxes_and_nothing_else(client: PlateClient) -> None:
    whole, with_texts = client.recognize(STREET), client.recognize(STREET, outputs=["texts"])
    assert with_texts.texts == whole.texts == TEXTS
    assert [*with_texts] == [Plate(plate.xyxy, text=plate.text) for plate in whole]


def test_boxes_alone_are_there_without_reading(client: PlateClient) -> None:
    plates = client.recognize(STREET, outputs=[])
    assert [*plates] == [Plate(plate.xyxy) for plate in client.recognize(STREET)]


def test_a_client_that_is_installed_alone_recognises(client_only: ClientOnly, wire) -> None:
    child = client_only.plates("recognize", STREET, "--url", wire.url)
    assert child.returncode == 0
    assert child.stderr.startswith("1 picture in ")
    assert all(text in child.stdout for text in TEXTS)
