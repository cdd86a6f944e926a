"""Pictures that differ, and answers that are compared with the right ones."""

import json
from dataclasses import dataclass, field

import pytest

from orchestrator.errors import ModelError
from workshop.benchmarks.faults.breaking import MARKER_SHAPE, draw_marker, is_marker
from workshop.benchmarks.faults.callers import (
    SIZE_WH,
    check,
    crop,
    cut,
    draw_scene,
    open_load,
    take_answers,
)
from workshop.benchmarks.load.connections import ANSWERED, LOST, Reply, digest
from workshop.benchmarks.load.requests import HttpRequest

FIRST, SECOND = HttpRequest("/first", b""), HttpRequest("/second", b"")
REQUESTS = {"http": [FIRST, SECOND], "grpc": [FIRST, SECOND]}


def answer(value: object) -> Reply:
    return Reply(ANSWERED, json.dumps({"value": value}).encode())


DIGESTS = [digest(FIRST, answer("a")), digest(FIRST, answer("b"))]


@dataclass
class ReplyTable:
    """A connection whose replies are a table by path."""

    first: Reply = field(default_factory=lambda: answer("a"))
    second: Reply = field(default_factory=lambda: answer("b"))
    is_closed: bool = False

    def send(self, request: HttpRequest) -> Reply:
        return {"/first": self.first, "/second": self.second}[request.path]

    def close(self) -> None:
        self.is_closed = True


def test_answers_are_those_of_each_picture_alone() -> None:
    assert take_answers(REQUESTS, ReplyTable()) == {"http": DIGESTS, "grpc": DIGESTS}


@pytest.mark.parametrize(
    ("requests", "connection", "message"),
    [
        pytest.param(
            REQUESTS,
            ReplyTable(second=answer("a")),
            r"wanted different answers, got one for \(0, 1\)",
            id="two-pictures-with-one-answer",
        ),
        pytest.param(
            {"http": [FIRST], "grpc": [SECOND]},
            ReplyTable(),
            "the same answers over http, grpc",
            id="protocols-differ",
        ),
        pytest.param(
            REQUESTS,
            ReplyTable(Reply("503", error="full")),
            "http: picture 0: 503: full",
            id="refused-without-load",
        ),
    ],
)
def test_answers_that_cannot_be_compared_are_an_error(
    requests: dict, connection: ReplyTable, message: str
) -> None:
    with pytest.raises(ModelError, match=message):
        take_answers(requests, connection)


@pytest.mark.parametrize(
    ("reply", "is_wrong"),
    [
        pytest.param(answer("b"), False, id="right"),
        pytest.param(answer("a"), True, id="another-pictures"),
        pytest.param(Reply(ANSWERED, b"<html>"), True, id="unreadable"),
        pytest.param(Reply("503"), False, id="refused"),
        pytest.param(Reply(LOST), False, id="lost"),
    ],
)
def test_an_answer_is_compared_with_that_of_its_picture(reply: Reply, is_wrong: bool) -> None:
    outcome = check(SECOND, reply, DIGESTS[1])
    assert (outcome.is_wrong, outcome.status) == (is_wrong, reply.status)


def test_a_load_sends_the_pictures_in_turn_over_each_protocol() -> None:
    connection = ReplyTable(second=answer("a"))
    load = open_load(
        REQUESTS, {"http": DIGESTS, "grpc": DIGESTS}, lambda: connection, each=2, most=8
    )
    with load.run():
        load.wait()
    assert (load.count, len(load.calls)) == (4, 8)
    assert sorted(call.number % 2 for call in load.calls if call.is_wrong) == [1] * 4
    assert connection.is_closed


def test_parts_of_a_scene_differ_and_have_one_size() -> None:
    larger = draw_scene(0).picture
    before = larger.copy()
    parts = [cut(larger, place) for place in range(3)]
    assert {part.shape for part in parts} == {(SIZE_WH[1], SIZE_WH[0], 3)}
    assert len({part.tobytes() for part in parts}) == 3
    assert (larger == before).all()


def test_crops_of_a_plate_differ_in_their_margins() -> None:
    tight, wider = (crop(draw_scene(0), margins) for margins in (0, 1))
    assert wider.shape[0] == tight.shape[0] + 2
    assert wider.shape[1] == tight.shape[1]


def test_only_the_marker_is_the_marker() -> None:
    other = draw_marker()
    other[0, 0, 0] ^= 1
    assert draw_marker().shape == MARKER_SHAPE
    assert is_marker(draw_marker())
    assert not is_marker(other)
    assert not is_marker(draw_marker()[:, :1])
