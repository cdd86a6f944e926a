"""Plates of another country, on a server with weights for its alphabet."""

import os
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from orchestrator.client import PlateClient
from orchestrator.errors import Overloaded, PlateError, WeightsError
from orchestrator.formats.plate_formats import RUSSIA, russian
from orchestrator.host.canary import read_canary
from orchestrator.imaging.decoding import read_picture
from orchestrator.networks.export import load_networks
from orchestrator.networks.lprnet import LPRNet
from orchestrator.networks.state_dicts import load_state, pop_alphabet, with_alphabet
from orchestrator.networks.weights import WEIGHTS, list_sums
from orchestrator.pipeline import recognize
from orchestrator.serving.supervisor.local_server import own_server, prepare
from orchestrator.serving.supervisor.models.export_cache import ModelSource
from orchestrator.serving.supervisor.options import ServerOptions
from tests.http_servers import is_answered
from tests.integration.serving import Serving, serve
from tests.samples import PLATES, STREET, TEXTS, copy_of, copy_of_models
from tests.waiting import until
from workshop.benchmarks.processes import find_tree
from workshop.training.reader.initial_weights import adapt

LETTERS = "АВЕКМНОРСТУХ"  # noqa: RUF001 - Cyrillic meant
LATIN = str.maketrans(LETTERS, "ABEKMHOPCTYX")
CYRILLIC = str.maketrans("ABEKMHOPCTYX", LETTERS)
ALPHABET = f"{LETTERS}9876543210Ё"
FORMATS = f'''alphabet = "{ALPHABET}"
[[format]]
name = "at_home"
layouts = ["LDDDLLRR", "LDDDLLRRR", "LLDDDRR"]
'''
THEIR_TEXTS = [text.translate(CYRILLIC) for text in TEXTS]


@pytest.fixture(scope="module")
def country(tmp_path_factory: pytest.TempPathFactory) -> ServerOptions:
    """A country whose plates look like Russian ones and are read in Cyrillic.

    Its weights are ours with the classes in another order, and a further class with a low score.
    """
    folder = tmp_path_factory.mktemp("country")
    models, weights = copy_of_models(folder), copy_of("weights", folder)
    fresh = {name: torch.zeros_like(tensor) for name, tensor in LPRNet(24).state_dict().items()}
    fresh["container.bias"][ALPHABET.index("Ё")] = -50
    latin = ALPHABET.translate(LATIN)
    ours = load_state("lprnet")
    pop_alphabet(ours)
    state = adapt(ours, fresh, russian().alphabet, latin)
    torch.save(with_alphabet(state, ALPHABET), weights / "lprnet.pth")
    (weights / "formats.toml").write_text(FORMATS, encoding="utf-8")
    canary = (WEIGHTS / "canary.txt").read_text().translate(CYRILLIC)
    (weights / "canary.txt").write_text(canary, encoding="utf-8")
    list_sums(weights)
    return ServerOptions(repository=models, weights=weights, pictures=1)


@pytest.fixture(scope="module")
def serving(country: ServerOptions) -> Iterator[Serving]:
    with serve("--model-repository", country.repository, "--weights", country.weights) as running:
        yield running


def read(url: str) -> list[str]:
    with PlateClient(url) as client:
        return client.recognize(STREET).texts


def try_to_read(serving: Serving) -> list[list[str]]:
    """Return a list with the answer of a service; empty while it cannot be reached."""
    try:
        return [read(serving.url)]
    except Overloaded:
        return []


def test_plates_are_read_in_its_alphabet(serving: Serving) -> None:
    with PlateClient(serving.url) as client:
        plates = client.recognize(STREET)
    assert plates.texts == THEIR_TEXTS
    assert {plate.format for plate in plates} == {"at_home"}


def test_its_health_check_reads_its_own_plate(serving: Serving, country: ServerOptions) -> None:
    assert read_canary(country.weights).text == "А123ВС77"  # noqa: RUF001
    until(lambda: is_answered(f"http://{serving.url}/readyz"), "a healthy service")


def test_a_triton_started_again_serves_what_was_served_whatever_has_changed_since(
    serving: Serving, country: ServerOptions
) -> None:
    export = ["export", "--model-repository", country.repository, "--weights", WEIGHTS, "--force"]
    subprocess.run([PLATES, *export], check=True, capture_output=True)
    formats = country.weights / "formats.toml"
    (country.weights / "canary.txt").write_text("A999AA99")
    formats.write_text(RUSSIA.read_text())
    try:
        (triton,) = serving.tritons()
        os.kill(triton, signal.SIGKILL)
        until(lambda: triton not in find_tree(serving.process.pid), "the old server away")
        answers: list[list[str]] = []
        until(lambda: answers.extend(try_to_read(serving)) or answers, "an answer")
        assert answers == [THEIR_TEXTS]
        until(lambda: is_answered(f"http://{serving.url}/readyz"), "a healthy service")
    finally:
        formats.write_text(FORMATS, encoding="utf-8")


def test_two_countries_are_served_from_one_repository(
    serving: Serving, country: ServerOptions
) -> None:
    with own_server(replace(country, weights=WEIGHTS, one_model=True)) as ours:
        assert read(ours.http_url) == TEXTS
        with PlateClient(serving.url, retries=8) as client:
            assert client.recognize(STREET).texts == THEIR_TEXTS


def test_two_countries_are_read_in_one_process(country: ServerOptions) -> None:
    picture = read_picture(STREET)
    assert recognize(picture, load_networks(country.weights)).texts == THEIR_TEXTS
    assert recognize(picture, load_networks()).texts == TEXTS


def test_plates_in_another_alphabet_are_refused(country: ServerOptions, tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match="wanted plate formats in the alphabet of its weights"):
        prepare(replace(country, formats=RUSSIA))
    with pytest.raises(PlateError, match="alphabet"):
        load_networks(country.weights, formats=russian())
    weights = copy_of("weights", tmp_path)
    (weights / "formats.toml").write_text(RUSSIA.read_text().replace("0123", "1023", 1))
    list_sums(weights)  # as the message says that one should
    with pytest.raises(WeightsError, match=r"lprnet\.pth: wanted plate formats in the alphabet"):
        load_networks(weights)
    (weights / "formats.toml").write_text(RUSSIA.read_text().replace("BEKMHOP", "BEKMHPO", 1))
    with pytest.raises(WeightsError, match=r"formats\.toml: wanted SHA-256"):
        ModelSource(weights=weights).read_formats()
