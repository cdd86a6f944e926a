"""Callers against a service made up."""

import threading
import time
from collections.abc import Callable

import pytest

from orchestrator.errors import ModelError
from workshop.benchmarks.faults.callers import Call, Load, make_call, take_answers
from workshop.benchmarks.faults.wires import ANSWERED, LOST, Reply

ANSWERS = {"http": ["a", "b"], "grpc": ["a", "b"]}


class Speaker:
    """A caller whose replies are a table."""

    def __init__(self, *replies: Reply) -> None:
        self.replies = replies
        self.is_closed = False

    def send(self, number: int) -> Reply:
        return self.replies[number]

    def close(self) -> None:
        self.is_closed = True


RIGHT = Speaker(Reply(ANSWERED, "a"), Reply(ANSWERED, "b"))


def always(speaker: Speaker) -> dict[str, Callable[[], Speaker]]:
    return {"http": lambda: speaker, "grpc": lambda: speaker}


def test_answers_are_those_of_each_picture_alone() -> None:
    assert take_answers(always(RIGHT), 2) == ANSWERS


def test_two_pictures_with_one_answer_could_be_exchanged() -> None:
    twins = Speaker(Reply(ANSWERED, "a"), Reply(ANSWERED, "a"))
    with pytest.raises(ModelError, match=r"wanted different answers, got one for \(0, 1\)"):
        take_answers(always(twins), 2)


def test_protocols_that_differ_are_told() -> None:
    other = Speaker(Reply(ANSWERED, "a"), Reply(ANSWERED, "c"))
    with pytest.raises(ModelError, match="the same answers over http, grpc"):
        take_answers({"http": lambda: RIGHT, "grpc": lambda: other}, 2)


def test_a_quiet_service_that_refuses_is_told() -> None:
    with pytest.raises(ModelError, match="http: picture 0: 503: full"):
        take_answers({"http": lambda: Speaker(Reply("503", told="full"))}, 1)


@pytest.mark.parametrize(
    ("reply", "is_wrong"),
    [
        pytest.param(Reply(ANSWERED, "b"), False, id="right"),
        pytest.param(Reply(ANSWERED, "a"), True, id="anothers"),
        pytest.param(Reply(ANSWERED), True, id="without-form"),
        pytest.param(Reply("503"), False, id="refused"),
        pytest.param(Reply(LOST), False, id="lost"),
    ],
)
def test_an_answer_is_held_against_that_of_its_picture(reply: Reply, is_wrong: bool) -> None:
    call = make_call("http", Speaker(reply, reply), 1, ["a", "b"])
    assert call.is_wrong == is_wrong
    assert call.status == reply.status


def test_a_load_ends_after_its_calls_and_closes_its_connections() -> None:
    load = Load(always(RIGHT), ANSWERS, each=2, most=7)
    with load.run():
        load.wait()
    assert len(load.calls) == 7
    assert load.count == 4
    assert not any(call.is_wrong for call in load.calls)
    assert RIGHT.is_closed


def test_a_load_without_an_end_is_ended() -> None:
    load = Load(always(RIGHT), ANSWERS, each=1)
    enough = threading.Event()
    with load.run():
        enough.wait(0.01)
    assert {call.protocol for call in load.calls} == {"http", "grpc"}


def test_what_a_caller_stumbles_over_is_raised() -> None:
    load = Load({"http": lambda: Speaker()}, ANSWERS, each=1, most=1)
    with pytest.raises(IndexError), load.run():
        pass


def of(*calls: Call) -> Load:
    return Load(always(RIGHT), ANSWERS, each=1, calls=[*calls])


def test_a_load_is_steady_once_everybody_was_answered_since() -> None:
    now = time.monotonic()
    http, grpc = (Call(protocol, 0, now - 60, now + 60) for protocol in ("http", "grpc"))
    failed = Call("http", 0, now - 60, now + 60, "503")
    since = now - 100
    assert of(http, grpc).is_steady(since, quiet_s=1)
    assert not of(http).is_steady(since, quiet_s=1)
    assert not of(http, grpc, failed).is_steady(since, quiet_s=1)
    assert not of(http, grpc).is_steady(now + 50, quiet_s=1)
    assert not of(http, grpc).is_steady(now - 50, quiet_s=1)  # they were sent before
