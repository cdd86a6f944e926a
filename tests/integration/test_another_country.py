"""Plates of another country, read by weights for its alphabet, through a server of its own."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
import torch

from orchestrator.client import PlateClient
from orchestrator.errors import WeightsError
from orchestrator.formats import RUSSIA, Formats, PlateFormat, russian
from orchestrator.images import read_picture
from orchestrator.networks.export import load_networks
from orchestrator.networks.lprnet import LPRNet
from orchestrator.networks.state_dicts import load_state
from orchestrator.networks.weights import list_sums
from orchestrator.pipeline import recognize
from orchestrator.server.local import on_free_ports, prepare
from orchestrator.server.options import ServerOptions
from orchestrator.server.process import run_server
from tests.samples import STREET, copy_of
from training.starts import adapt

LETTERS = "АВЕКМНОРСТУХ"  # noqa: RUF001 - Cyrillic meant
LATIN = str.maketrans(LETTERS, "ABEKMHOPCTYX")
ALPHABET = f"{LETTERS}9876543210Ё"
LAYOUTS = ("LDDDLLRR", "LDDDLLRRR", "LLDDDRR")


@pytest.fixture(scope="module")
def country(tmp_path_factory: pytest.TempPathFactory) -> ServerOptions:
    """A country whose plates look like Russian ones and are read in Cyrillic.

    Its weights are ours with the classes in another order, and one more that is never sure.
    """
    folder = tmp_path_factory.mktemp("country")
    models, weights = copy_of("model_repository", folder), copy_of("weights", folder)
    fresh = {name: torch.zeros_like(t) for name, t in LPRNet(24).state_dict().items()}
    fresh["container.bias"][ALPHABET.index("Ё")] = -50
    latin = ALPHABET.translate(LATIN)
    state = adapt(load_state("lprnet"), fresh, russian().alphabet, latin)
    torch.save(state, weights / "lprnet.pth")
    list_sums(weights)
    layouts = ", ".join(f'"{layout}"' for layout in LAYOUTS)
    text = f'alphabet = "{ALPHABET}"\n[[format]]\nname = "at_home"\nlayouts = [{layouts}]\n'
    (folder / "formats.toml").write_text(text, encoding="utf-8")
    return ServerOptions(repository=models, weights=weights, formats=folder / "formats.toml")


@pytest.fixture(scope="module")
def client(country: ServerOptions) -> Iterator[PlateClient]:
    options = on_free_ports(prepare(country))
    with run_server(options), PlateClient(options.http_url) as one:
        yield one


def test_plates_are_read_in_its_alphabet(client: PlateClient) -> None:
    ours = recognize(read_picture(STREET), load_networks())
    theirs = client.recognize(STREET)
    assert len(theirs) == 3
    assert [text.translate(LATIN) for text in theirs.texts] == ours.texts
    assert {plate.format for plate in theirs} == {"at_home"}


def test_two_countries_are_read_in_one_process(country: ServerOptions) -> None:
    formats = Formats(ALPHABET, (PlateFormat("at_home", LAYOUTS),))
    infer = load_networks(country.weights, formats=formats)
    theirs = recognize(read_picture(STREET), infer, formats=formats)
    ours = recognize(read_picture(STREET), load_networks())
    assert [text.translate(LATIN) for text in theirs.texts] == ours.texts != theirs.texts


def test_weights_of_another_alphabet_are_refused(country: ServerOptions) -> None:
    with pytest.raises(WeightsError, match=r"lprnet\.pth: wanted weights of LPRNet for these"):
        prepare(replace(country, formats=RUSSIA))
