"""The country of each plate, from servers with weights that read several countries."""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from urllib.request import Request, urlopen

import cv2
import pytest
import torch
import tritonclient.http

from orchestrator import AsyncPlateClient, PlateClient
from orchestrator.contract import COUNTRY_OUTPUTS, MODEL, OUTPUTS, STAGE_SECONDS
from orchestrator.formats.plate_formats import COUNTRIES, read_formats, russian
from orchestrator.networks.lprnet import LPRNet
from orchestrator.networks.state_dicts import load_state, pop_alphabet, with_alphabet
from orchestrator.networks.weights import list_sums
from orchestrator.plates import PlateCountry, Plates
from orchestrator.serving.supervisor.local_server import own_server
from orchestrator.serving.supervisor.options import ServerOptions
from tests.integration.serving import Serving, serve
from tests.samples import STREET, TEXTS, copy_of, copy_of_models
from workshop.training.reader.initial_weights import adapt

RUSSIAN = [PlateCountry("ru", 1.0)] * len(TEXTS)


@pytest.fixture(scope="module")
def neighbours(tmp_path_factory: pytest.TempPathFactory) -> ServerOptions:
    """Our weights with classes for the letters and signs of the neighbours, whose scores are low.

    So they read Russian plates as ours do, and no others.
    """
    folder = tmp_path_factory.mktemp("neighbours")
    models, weights = copy_of_models(folder), copy_of("weights", folder)
    file = COUNTRIES / "neighbours" / "formats.toml"
    formats = read_formats(file)
    fresh = LPRNet(formats.classes).state_dict()
    fresh = {name: torch.zeros_like(tensor) for name, tensor in fresh.items()}
    fresh["container.bias"][:] = -50
    ours = load_state("lprnet")
    pop_alphabet(ours)
    state = adapt(ours, fresh, russian().alphabet, formats.alphabet)
    torch.save(with_alphabet(state, formats.alphabet), weights / "lprnet.pth")
    (weights / "formats.toml").write_text(file.read_text(encoding="utf-8"), encoding="utf-8")
    list_sums(weights)
    return ServerOptions(repository=models, weights=weights, pictures=1)


@pytest.fixture(scope="module")
def serving(neighbours: ServerOptions) -> Iterator[Serving]:
    flags = ("--model-repository", neighbours.repository, "--weights", neighbours.weights)
    with serve(*flags) as running:
        yield running


def countries_of(plates: Plates) -> list[PlateCountry | None]:
    """Return the countries, with scores of one digit."""
    return [
        plate.country and replace(plate.country, score=round(plate.country.score, 1))
        for plate in plates
    ]


def post(url: str, file: bytes) -> list[dict]:
    """Return the pictures of an answer over REST."""
    with urlopen(Request(f"http://{url}", file), timeout=60) as answer:
        return json.loads(answer.read())["pictures"]


@pytest.mark.parametrize("protocol", ["http", "grpc"])
def test_clients_get_the_country_of_each_plate(serving: Serving, protocol: str) -> None:
    url = serving.url if protocol == "http" else f"grpc://{serving.grpc}"

    async def recognize() -> Plates:
        async with AsyncPlateClient(url) as client:
            return await client.recognize(STREET)

    with PlateClient(url) as client:
        plates = client.recognize(STREET)
        unread = client.recognize(STREET, text_threshold=1.0)
        texts = client.recognize(STREET, outputs=["texts"])
    assert (plates.texts, countries_of(plates)) == (TEXTS, RUSSIAN)
    assert asyncio.run(recognize()) == plates
    assert countries_of(unread) == countries_of(texts) == [None] * len(TEXTS)
    assert texts.texts == TEXTS


def test_rest_tells_the_country_of_each_plate(serving: Serving) -> None:
    (picture,) = post(f"{serving.url}/v1/recognize", STREET.read_bytes())
    assert [plate["country"]["code"] for plate in picture["plates"]] == ["ru"] * len(TEXTS)
    assert all(plate["country"]["score"] > 0.9 for plate in picture["plates"])
    (picture,) = post(f"{serving.url}/v1/recognize?text_threshold=1", STREET.read_bytes())
    assert not any("country" in plate for plate in picture["plates"])
    crop = cv2.imencode(".png", cv2.imread(str(STREET))[332:382, 219:430])[1].tobytes()
    (picture,) = post(f"{serving.url}/v1/read", crop)
    assert picture["plate"]["country"]["code"] == "ru"


def test_the_model_lists_the_outputs(serving: Serving) -> None:
    client = tritonclient.http.InferenceServerClient(serving.url)
    names = [output["name"] for output in client.get_model_metadata(MODEL)["outputs"]]
    assert names == [*OUTPUTS, STAGE_SECONDS, *COUNTRY_OUTPUTS]


def test_one_model_answers_alike_without_a_gateway(
    serving: Serving, neighbours: ServerOptions
) -> None:
    with PlateClient(serving.url) as client:
        plates = client.recognize(STREET)
    with (
        own_server(replace(neighbours, one_model=True)) as options,
        PlateClient(options.http_url) as client,
    ):
        assert client.recognize(STREET) == plates
