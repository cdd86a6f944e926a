import threading
from collections.abc import Iterator

import pytest

from orchestrator.cli.recognition.in_order import AHEAD, in_order


def test_nothing_gives_nothing() -> None:
    assert [*in_order(str, [], 3)] == []


def test_the_order_is_that_of_the_items_however_slow_one_is() -> None:
    is_last_done = threading.Event()

    def work(item: int) -> int:
        if item == 0:
            assert is_last_done.wait(10)
        if item == 7:
            is_last_done.set()
        return item

    assert [*in_order(work, range(8), 2)] == [*range(8)]


def test_as_many_are_under_way_as_was_said() -> None:
    all_in = threading.Barrier(3)
    assert [*in_order(lambda _: all_in.wait(10) >= 0, range(3), 3)] == [True] * 3


def test_items_are_taken_as_results_are_asked_for() -> None:
    taken: list[int] = []

    def items() -> Iterator[int]:
        for item in range(1000):
            taken.append(item)
            yield item

    results = in_order(lambda item: item, items(), 2)
    assert next(results) == 0
    assert len(taken) == 2 * AHEAD
    results.close()


def test_what_has_not_begun_is_dropped_when_the_caller_stops() -> None:
    begun: list[int] = []
    may_end = threading.Event()

    def work(item: int) -> int:
        begun.append(item)
        assert item == 0 or may_end.wait(10)
        return item

    results = in_order(work, range(100), 1)
    assert next(results) == 0
    results.close()
    may_end.set()
    assert len(begun) <= 2


def test_an_error_is_the_callers() -> None:
    with pytest.raises(ZeroDivisionError):
        next(in_order(lambda item: 1 // item, [0], 1))
