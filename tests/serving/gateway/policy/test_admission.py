"""Admission of calls by rate, place and memory; repeated rejections are delayed."""

import asyncio
from contextlib import AbstractContextManager, ExitStack

import pytest

from orchestrator.errors import SettingsError
from orchestrator.serving.gateway.errors import GatewayError, QuotaExceeded, ServiceFull
from orchestrator.serving.gateway.options import MIB, Limits
from orchestrator.serving.gateway.policy.admission import Admission, Counts, RateLimit
from orchestrator.serving.gateway.policy.slots import Slot
from tests.serving.gateway.stories import NOTHING, admission, client, enter, enter_often, settle
from tests.virtual_time import Clock


def test_calls_at_once_have_to_be_known() -> None:
    with pytest.raises(SettingsError, match="calls: wanted 1 or more, got 0"):
        Admission(Limits(calls=0))


def test_a_call_counts_until_its_end_or_failure() -> None:
    admitting = admission(memory_mb=1)
    assert admitting.counts() == NOTHING
    with enter(admitting, client(), MIB):  # one body may be as large as the memory
        assert admitting.counts() == Counts(
            inside=1, waiting=0, in_work=0, delayed_rejections=0, bytes=MIB
        )
    with pytest.raises(KeyError), enter(admitting, client(), 7):
        raise KeyError
    assert admitting.counts() == NOTHING


@pytest.mark.parametrize(("rate", "at_once"), [(2.0, 2), (0.5, 1)])
def test_one_second_of_a_client_s_calls_may_come_at_once_and_the_next_when_the_refusal_said(
    rate: float, at_once: int
) -> None:
    admitting = admission(clock := Clock())
    enter_often(admitting, client(rate=rate), at_once)
    message = rf"calls a second: wanted at most {rate:g}, got more"
    with pytest.raises(QuotaExceeded, match=message) as refused:
        enter_often(admitting, client(rate=rate), 1)
    assert refused.value.retry_after_s == pytest.approx(1 / rate)
    enter_often(admitting, client("another", rate=rate), 1)
    clock.now_s += 1 / rate
    enter_often(admitting, client(rate=rate), 1)
    with pytest.raises(QuotaExceeded, match="calls a second"):
        enter_often(admitting, client(rate=rate), 1)


def test_a_call_that_finds_no_room_costs_nothing_of_the_rate() -> None:
    admitting = admission(calls=1, waiting=1)
    slots = enter(admitting, client("b"), 0), enter(admitting, client("c"), 0)
    with slots[0], slots[1], pytest.raises(ServiceFull, match="places"):
        enter_often(admitting, client(rate=1.0), 1)
    enter_often(admitting, client(rate=1.0), 1)
    assert admitting.counts() == NOTHING


@pytest.mark.parametrize(
    ("calls", "inside", "late_call", "later_calls", "error"),
    [
        (
            1,
            [("a", 0)],
            ("a", 0),
            [("b", 0)],
            QuotaExceeded("at once: wanted at most 1, got one"),
        ),
        (9, [*zip("abc", [0] * 3, strict=True)], ("d", 0), [], ServiceFull("all places are taken")),
        (9, [("a", MIB - 1)], ("b", 2), [("b", 1)], ServiceFull("memory for bodies")),
        (9, [("a", MIB // 2)], ("a", 1), [("b", MIB // 2)], QuotaExceeded("got half")),
    ],
    ids=["calls of a client", "places", "memory", "memory of a client"],
)
def test_a_call_beyond_a_limit_is_refused_until_another_ends(
    calls: int,
    inside: list[tuple[str, int]],
    late_call: tuple[str, int],
    later_calls: list[tuple[str, int]],
    error: GatewayError,
) -> None:
    admitting = admission(calls=1, waiting=2, memory_mb=1)

    def enter_with(name: str, size: int) -> AbstractContextManager[Slot]:
        return enter(admitting, client(name, calls), size)

    with ExitStack() as stack:
        _ = [stack.enter_context(enter_with(*call)) for call in inside]
        with pytest.raises(type(error), match=str(error)) as refused, enter_with(*late_call):
            pytest.fail("it has a place")
        assert refused.value.retry_after_s == 1.0
        _ = [stack.enter_context(enter_with(*call)) for call in later_calls]
        sizes = [size for _, size in (*inside, *later_calls)]
        assert (admitting.counts().inside, admitting.counts().bytes) == (len(sizes), sum(sizes))
    with enter_with(*late_call):
        assert admitting.counts().inside == 1


def test_only_full_buckets_are_forgotten() -> None:
    rates = RateLimit()
    rates.take(client("slow", rate=0.00001), 0.0)
    for number in range(5000):
        rates.take(client(str(number), rate=1.0), float(number))
    assert len(rates) <= 1000
    with pytest.raises(QuotaExceeded) as refused:
        rates.check(client("slow", rate=0.00001), 5000.0)
    assert refused.value.retry_after_s == pytest.approx(95_000.0)


class Sleeper:
    """A sleep that ends when the test wakes it; it records its duration."""

    def __init__(self) -> None:
        self.pauses_s: list[float] = []
        self.wake = asyncio.Event()

    async def __call__(self, seconds: float) -> None:
        self.pauses_s.append(seconds)
        await self.wake.wait()


async def reject(admitting: Admission, names: list[str]) -> list[asyncio.Task[None]]:
    tasks = [asyncio.create_task(admitting.delay_rejection(name)) for name in names]
    await settle()
    return tasks


async def test_the_first_rejections_of_a_second_are_sent_at_once() -> None:
    clock, sleeper = Clock(), Sleeper()
    admitting = Admission(Limits(calls=1), clock, sleeper)
    tasks = await reject(admitting, ["a"] * 23)
    assert [task.done() for task in tasks] == [True] * 20 + [False] * 3
    tasks[-1].cancel()  # its client hangs up
    await settle()
    assert (sleeper.pauses_s, admitting.counts().delayed_rejections) == ([1.0] * 3, 2)
    clock.now_s += 1
    assert [task.done() for task in await reject(admitting, ["a"] * 20)] == [True] * 20
    sleeper.wake.set()
    await asyncio.gather(*tasks[:-1])
    assert admitting.counts() == NOTHING


@pytest.mark.parametrize(
    ("clients", "max_delayed"), [(50, 2000), (1, 125)], ids=["all", "of a client"]
)
async def test_so_many_rejections_are_delayed(clients: int, max_delayed: int) -> None:
    """Otherwise a client that retries at once would use up the CPU."""
    admitting = Admission(Limits(calls=1), Clock(), sleeper := Sleeper())
    tasks = await reject(admitting, [f"c{i % clients}" for i in range(20 + max_delayed + 3)])
    assert [task.done() for task in tasks] == [True] * 20 + [False] * max_delayed + [True] * 3
    tasks_of_other = await reject(admitting, ["other"])
    assert tasks_of_other[0].done() is (max_delayed == 2000)
    sleeper.wake.set()
    await asyncio.gather(*tasks, *tasks_of_other)
    assert admitting.counts() == NOTHING
