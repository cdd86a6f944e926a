"""Callers against a made-up service."""

import contextlib
from collections.abc import Callable, Iterator

import pytest

from orchestrator.errors import ModelError, Overloaded
from workshop.benchmarks.load.closed_loop import Call, Connect, Load, Outcome, Send


def connecting(send: Send, changes: list[str] | None = None) -> Connect:
    @contextlib.contextmanager
    def connect() -> Iterator[Send]:
        (changes or []).append("opened")
        yield send
        if changes is not None:
            changes.append("closed")

    return connect


def answer(number: int) -> Outcome:
    return Outcome(plates=number)


def test_a_load_makes_each_of_its_calls_once_and_closes_its_connections() -> None:
    changes: list[str] = []
    calls: list[Call] = []
    connect = {"http": connecting(answer, changes), "grpc": connecting(answer)}
    load = Load(connect, each=2, most=7, record=calls.append)
    with load.run():
        load.wait()
    assert sorted(call.number for call in calls) == [*range(7)]
    assert load.calls == []
    assert load.count == 4
    assert changes.count("closed") == 2
    assert load.has_ended()


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        pytest.param(Overloaded("full"), Outcome("503", error="full"), id="overloaded"),
        pytest.param(ModelError("broken"), Outcome("failed", error="broken"), id="failed"),
        pytest.param(ModelError(), Outcome("failed", error="ModelError"), id="no-message"),
    ],
)
def test_an_error_is_an_outcome(error: Exception, outcome: Outcome) -> None:
    def send(number: int) -> Outcome:
        raise error

    load = Load({"http": connecting(send)}, most=1)
    with load.run():
        load.wait()
    (call,) = load.calls
    assert Outcome(call.status, call.is_wrong, call.error) == outcome


def broken(number: int) -> Outcome:
    raise IndexError("a bug")


@contextlib.contextmanager
def refused() -> Iterator[Send]:
    raise ConnectionError("nobody listens")
    yield


@pytest.mark.parametrize(
    ("connect", "error"), [(connecting(broken), IndexError), (refused, ConnectionError)]
)
def test_an_unexpected_error_ends_its_caller_and_is_raised(
    connect: Callable, error: type[Exception]
) -> None:
    load = Load({"http": connect})
    with load.run(), pytest.raises(error):
        load.wait()
    assert load.has_ended()
    assert [type(error) for error in load.errors()] == [error]
