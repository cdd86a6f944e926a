"""Servers are compared only if they answer alike."""

import json

import pytest

from orchestrator.errors import ModelError
from orchestrator.plates import Plate, Plates
from workshop.benchmarks.load.connections import Reply
from workshop.benchmarks.peers.answers import check_alike, read_peer, read_rest

BOX = (1.0, 2.0, 30.0, 40.0)
ANSWER = Plates((Plate(BOX, text="A001AA77"),))
PLATES = {"plates": [{"text": "A001AA77", "xyxy": BOX, "format": "ru_car"}]}


def test_answers_without_plates_are_alike() -> None:
    check_alike("street", Plates(()), {"Triton": Plates(())})


def test_boxes_may_differ_by_a_tenth_of_a_pixel_and_scores_do_not_count() -> None:
    near = Plate((1.09, 2.0, 30.0, 40.0), text="A001AA77")
    surer = Plates((Plate(BOX, 0.9, text="A001AA77", text_score=0.9),))
    check_alike("street", surer, {"Triton": Plates((near,))})


@pytest.mark.parametrize(
    ("got", "difference"),
    [
        pytest.param((), "plates: wanted 1, got 0", id="no plate"),
        pytest.param((Plate(BOX, text="A001AA78"),), "A001AA77: wanted the text", id="text"),
        pytest.param(
            (Plate((1.0, 2.2, 30.0, 40.0), text="A001AA77"),),
            "A001AA77: wanted the box within 0.1 px, got 0.20",
            id="box",
        ),
    ],
)
def test_a_difference_is_described_and_names_its_server(
    got: tuple[Plate, ...], difference: str
) -> None:
    with pytest.raises(ModelError, match=f"FastAPI, street: {difference}"):
        check_alike("street", ANSWER, {"Triton": ANSWER, "FastAPI": Plates(got)})


def test_answers_of_the_gateway_and_of_a_peer_are_read() -> None:
    of_the_gateway = {"pictures": [{"name": "", **PLATES}]}
    assert read_rest(Reply("answered", json.dumps(of_the_gateway).encode())) == ANSWER
    assert read_peer(Reply("answered", json.dumps(PLATES).encode())) == ANSWER
