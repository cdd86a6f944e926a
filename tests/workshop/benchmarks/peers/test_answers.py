"""Servers are compared only if they answer alike."""

import json

import pytest

from orchestrator.errors import ModelError
from workshop.benchmarks.load.connections import Reply
from workshop.benchmarks.peers.answers import (
    Reading,
    check_alike,
    find_difference,
    read_peer,
    read_rest,
)

BOX = (1.0, 2.0, 30.0, 40.0)
ANSWER = (Reading("A001AA77", BOX),)
PLATES = {"plates": [{"text": "A001AA77", "xyxy": BOX, "format": "ru_car"}]}


def test_boxes_may_differ_by_a_tenth_of_a_pixel() -> None:
    assert find_difference(ANSWER, (Reading("A001AA77", (1.09, 2.0, 30.0, 40.0)),)) == ""


@pytest.mark.parametrize(
    ("got", "difference"),
    [
        pytest.param((), "wanted 1 plates, got 0", id="no plate"),
        pytest.param((Reading("A001AA78", BOX),), "wanted the text 'A001AA77', got", id="text"),
        pytest.param(
            (Reading("A001AA77", (1.0, 2.2, 30.0, 40.0)),), "A001AA77: wanted the box", id="box"
        ),
    ],
)
def test_a_difference_is_described_and_names_its_server(got: tuple, difference: str) -> None:
    assert find_difference(ANSWER, got).startswith(difference)
    with pytest.raises(ModelError, match=f"FastAPI, street: {difference}"):
        check_alike("street", ANSWER, {"Triton": ANSWER, "FastAPI": got})


def test_answers_of_the_gateway_and_of_a_peer_are_read() -> None:
    of_the_gateway = {"pictures": [{"name": "", **PLATES}]}
    assert read_rest(Reply("answered", json.dumps(of_the_gateway).encode())) == ANSWER
    assert read_peer(Reply("answered", json.dumps(PLATES).encode())) == ANSWER
