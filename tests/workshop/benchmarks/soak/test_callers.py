"""Good and bad requests, and the record of their calls."""

import json

import numpy as np
import pytest

from workshop.benchmarks.load.closed_loop import Call
from workshop.benchmarks.load.connections import ANSWERED, Reply
from workshop.benchmarks.load.requests import GrpcRequest, HttpRequest
from workshop.benchmarks.pictures import encode
from workshop.benchmarks.soak.callers import (
    EVERY,
    MAX_DESCRIBED,
    CheckedRequest,
    Record,
    RequestMix,
    shuffle,
)
from workshop.benchmarks.soak.request_kinds import SentPictures, list_alone, list_bad, list_good
from workshop.benchmarks.soak.samples import Calls

REQUEST = HttpRequest("/v1/recognize", b"")
GOOD = CheckedRequest("a street", REQUEST, ("A123BC77",))
BAD = CheckedRequest("no picture", REQUEST, status="400", words="wanted a JPEG")
DROPPED = CheckedRequest("hung up", REQUEST, status="dropped", hang_up_s=0.01)


def make_request(name: str) -> CheckedRequest:
    return CheckedRequest(name, REQUEST)


def answer(*texts: str) -> Reply:
    plates = [{"text": text} for text in texts]
    return Reply(ANSWERED, json.dumps({"pictures": [{"plates": plates}]}).encode())


def test_every_tenth_call_is_bad_and_all_are_sent_in_turn() -> None:
    mix = RequestMix(
        [make_request(f"good {number}") for number in range(4)],
        [make_request("bad 0"), make_request("bad 1")],
    )
    names = [mix.find(number).name for number in range(2 * EVERY)]
    assert names[:EVERY] == [*(f"good {number % 4}" for number in range(9)), "bad 0"]
    assert names[EVERY:] == [*(f"good {number % 4}" for number in range(9, 18)), "bad 1"]
    assert shuffle(mix.good, mix.bad) == shuffle(mix.good, mix.bad) != mix


@pytest.mark.parametrize(
    ("request_", "reply", "error"),
    [
        pytest.param(GOOD, answer("A123BC77"), "", id="answered"),
        pytest.param(BAD, Reply("400", error="it wanted a JPEG file"), "", id="refused"),
        pytest.param(DROPPED, Reply("dropped"), "", id="dropped"),
        pytest.param(
            GOOD, answer(), "a street: wanted A123BC77, got no plate", id="a plate is missing"
        ),
        pytest.param(
            GOOD,
            Reply("503", error="full"),
            "a street: wanted answered, got 503 full",
            id="refused though good",
        ),
        pytest.param(
            BAD,
            answer("A123BC77"),
            "no picture: wanted 400 wanted a JPEG, got answered",
            id="answered though bad",
        ),
        pytest.param(
            BAD,
            Reply("400", error="no"),
            "no picture: wanted 400 wanted a JPEG, got 400 no",
            id="other words",
        ),
        pytest.param(
            GOOD,
            Reply(ANSWERED, b"[]"),
            "a street: wanted an answer, got TypeError('list indices must be integers or slices, "
            "not str')",
            id="unreadable",
        ),
    ],
)
def test_a_reply_is_compared_with_the_right_one(
    request_: CheckedRequest, reply: Reply, error: str
) -> None:
    assert request_.find_error(reply) == error


def call(number: int, seconds: float, error: str = "") -> Call:
    return Call("", number, 0.0, seconds, is_wrong=bool(error), error=error)


def test_a_record_counts_every_kind_of_call_and_times_good_ones_alone() -> None:
    record = Record(RequestMix([GOOD], [BAD, DROPPED]))
    for number, seconds in ((0, 0.1), (1, 0.3), (EVERY - 1, 9.0), (2 * EVERY - 1, 9.0)):
        record.add(call(number, seconds))
    record.add(call(2, 9.0, "a street: wanted answered, got 503"))
    counts = Calls(2, 1, 1, 1, p50_ms=pytest.approx(200), p95_ms=pytest.approx(290))
    assert record.sample() == counts
    assert record.sample() == Calls(2, 1, 1, 1)
    assert record.add_up() == counts
    assert record.wrong == ["a street: wanted answered, got 503"]
    for _ in range(MAX_DESCRIBED):
        record.add(call(0, 0.0, "wrong"))
    assert (len(record.wrong), record.add_up().failed) == (MAX_DESCRIBED, MAX_DESCRIBED + 1)


@pytest.fixture(scope="module")
def pictures() -> SentPictures:
    street, other, tiny, crop = (
        encode(name, np.zeros((12, 16, 3), np.uint8))
        for name in ("street", "other", "tiny", "crop")
    )
    return SentPictures((street, other), tiny, crop)


@pytest.fixture(scope="module")
def bad(pictures: SentPictures) -> list[CheckedRequest]:
    return list_bad(pictures.streets[0])


def test_the_right_answer_is_that_of_the_pictures_alone(
    pictures: SentPictures, bad: list[CheckedRequest]
) -> None:
    texts = {name: (name,) for name in list_alone(pictures)}
    good = {request.name: request for request in list_good(pictures, texts)}
    assert {text for request in good.values() for text in request.texts} == {*texts}
    assert good["street and another by REST form"].texts == ("street", "other")
    names = {*good, *(request.name for request in bad)}
    assert len(names) == sum(1 for _ in list_good(pictures, texts)) + len(bad)


def test_bad_requests_are_refused_or_dropped_over_both_protocols(bad: list[CheckedRequest]) -> None:
    assert not any(request.is_good for request in bad)
    over_grpc = [
        isinstance(request.request, GrpcRequest) for request in bad if request.outcome == "dropped"
    ]
    assert sorted(over_grpc) == [False, False, True, True]
