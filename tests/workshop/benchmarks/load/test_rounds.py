import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from orchestrator.errors import ModelError
from workshop.benchmarks.load import closed_loop
from workshop.benchmarks.load.closed_loop import Outcome, Send
from workshop.benchmarks.load.rounds import Cpu, Round, measure_round, repeat, shuffle

CALL_S = 0.01


class WorkClock:
    """A clock that moves only when a call spends time."""

    def __init__(self) -> None:
        self.now = 0.0
        self.lock = threading.Lock()

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        with self.lock:
            self.now += seconds


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> WorkClock:
    clock = WorkClock()
    monkeypatch.setattr(closed_loop, "time", clock)
    return clock


class TimedService:
    """Takes its time for each call; `fails` says by number which calls fail, and how."""

    def __init__(self, fails: Callable[[int], Exception | None] = lambda number: None) -> None:
        self.calls = itertools.count()
        self.open: set[int] = set()
        self.most_open = 0
        self.fails = fails

    @contextmanager
    def caller(self) -> Iterator[Send]:
        self.open.add(threading.get_ident())
        self.most_open = max(self.most_open, len(self.open))
        try:
            yield self.call
        finally:
            self.open.discard(threading.get_ident())

    def call(self, number: int) -> Outcome:
        closed_loop.time.sleep(CALL_S)
        if error := self.fails(next(self.calls)):
            raise error
        return Outcome(plates=3)


def measure_service(service: TimedService, concurrency: int = 1, seconds: float = 0.1) -> Round:
    return measure_round(service.caller, concurrency, seconds)


def test_calls_after_the_warm_up_are_counted() -> None:
    service = TimedService()
    loop = measure_service(service)
    assert list(loop.latencies_ms) == pytest.approx([1e3 * CALL_S] * len(loop.latencies_ms))
    assert len(loop.latencies_ms) >= 10
    assert loop.seconds >= 0.1 - 1e-9
    assert sum(loop.latencies_ms) == pytest.approx(1e3 * loop.seconds)
    assert next(service.calls) >= 1 + len(loop.latencies_ms)
    assert (loop.plates, loop.errors, loop.refused, loop.first_error) == (3, 0, 0, "")


def test_usage_is_what_has_grown_between_the_two_ends() -> None:
    service = TimedService()
    readings = iter([5.0, 12.0])
    were_all_open: list[bool] = []

    def usage() -> Cpu:
        were_all_open.append(service.most_open == 2)
        return Cpu(server=next(readings))

    assert measure_round(service.caller, 2, 0.1, usage=usage).cpu_s == Cpu(server=7.0)
    assert were_all_open == [True, True], "everybody is at work"


def test_a_round_lasts_until_as_many_calls_as_callers_have_ended() -> None:
    service = TimedService()
    assert len(measure_service(service, concurrency=4, seconds=0.0).latencies_ms) >= 4
    assert (service.most_open, service.open) == (4, set())


def test_memory_is_looked_at_all_the_time() -> None:
    """The call that is measured waits for three looks at it."""
    look_count = threading.Semaphore(0)
    needed_looks = itertools.chain([0, 3], itertools.repeat(0))
    were_looks_made: list[bool] = []

    def send(looks: int) -> Outcome:
        were_looks_made.extend(look_count.acquire(timeout=20) for _ in range(looks))
        return Outcome()

    @contextmanager
    def caller() -> Iterator[Send]:
        yield lambda number: send(next(needed_looks))

    measure_round(caller, 1, 0.0, look=look_count.release)
    assert were_looks_made == [True] * 3


def test_failures_are_counted_and_the_first_is_kept() -> None:
    failures = {0: ModelError("one"), 1: ModelError("two")}
    loop = measure_service(TimedService(failures.get))
    assert (loop.errors, loop.first_error) == (2, "one")
    always = measure_service(TimedService(lambda number: ModelError("broken")), concurrency=2)
    assert (list(always.latencies_ms), always.errors > 0) == ([], True)


def test_an_interrupt_closes_every_caller() -> None:
    service = TimedService()

    def interrupted() -> Cpu:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measure_round(service.caller, 3, 0.1, usage=interrupted)
    assert service.open == set()


CELLS = [(picture, count) for picture in "abc" for count in (1, 2, 4)]


def test_rounds_differ_in_their_order_and_repeat_themselves() -> None:
    first, second = (shuffle(CELLS, round_, lambda cell: cell) for round_ in (0, 1))
    assert sorted(first) == sorted(second) == CELLS
    assert first != second
    assert second == shuffle(CELLS, 1, lambda cell: cell)


def test_every_round_has_every_cell_once_and_says_how_long_the_rest_takes(capsys) -> None:
    rounds: dict[str, list[Round]] = {}
    cell_round = Round(2.0, (5.0,), errors=3)
    assert [*repeat(["cell"], 2, lambda cell: cell_round, rounds)] == [1, 2]
    assert rounds == {"cell": [cell_round, cell_round]}
    expected_line = "2/2  cell: 0.5 pictures/s, 3 errors; about 0 s left"
    assert capsys.readouterr().err.splitlines()[1] == expected_line
