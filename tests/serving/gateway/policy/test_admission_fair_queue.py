"""The order of waiting calls, and the slots that they lose or hand over."""

import asyncio

import pytest

from orchestrator.serving.gateway.errors import Evicted, ServiceFull
from orchestrator.serving.gateway.options import MIB
from orchestrator.serving.gateway.policy.admission import Counts
from orchestrator.serving.gateway.policy.clients import ARCHIVE, GATE, USUAL
from orchestrator.serving.protocol.inference import Cost
from tests.serving.gateway.stories import NOTHING, AdmissionStory, client, enter, settle, upload


async def test_turns_come_by_priority_and_arrival() -> None:
    story = AdmissionStory(waiting=4)
    tasks = [
        await story.start(*call)
        for call in [
            ("first", ARCHIVE), ("archive", ARCHIVE), ("a", USUAL), ("gate", GATE), ("b", USUAL)
        ]
    ]  # fmt: skip
    assert story.began == ["first"]
    assert story.admission.counts() == Counts(
        5, waiting=4, in_work=1, delayed_rejections=0, bytes=0
    )
    await story.finish(*tasks)
    assert story.began == ["first", "gate", "a", "b", "archive"]
    assert story.admission.counts() == NOTHING


async def test_a_gate_takes_the_place_of_the_latest_of_the_worst() -> None:
    story = AdmissionStory(waiting=3)
    work = await story.start("work", ARCHIVE)
    waiting = [await story.start(*call) for call in [("x", ARCHIVE), ("y", ARCHIVE), ("z", USUAL)]]
    gate = await story.start("gate", GATE)
    with pytest.raises(Evicted, match="a call of better priority took the place"):
        await waiting[1]
    assert story.admission.counts() == Counts(
        4, waiting=3, in_work=1, delayed_rejections=0, bytes=0
    )
    await story.finish(work, gate, waiting[0], waiting[2])
    assert story.ended == ["work", "gate", "z", "x"]


async def test_each_gate_takes_another_place() -> None:
    story = AdmissionStory()
    work = await story.start("work", ARCHIVE)
    waiting = [await story.start("x", ARCHIVE), await story.start("y", ARCHIVE)]
    gates = [asyncio.create_task(story.call(client(name, priority=GATE), 0)) for name in ("g", "h")]
    errors = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(error) for error in errors] == [Evicted, Evicted]
    await story.finish(work, *gates)
    assert story.ended == ["work", "g", "h"]


@pytest.mark.parametrize(
    ("priority", "other_priority"),
    [pytest.param(GATE, GATE, id="equal"), pytest.param(ARCHIVE, USUAL, id="worse")],
)
async def test_only_a_better_priority_takes_a_place(priority: int, other_priority: int) -> None:
    story = AdmissionStory(waiting=3)
    tasks = [await story.start(name, other_priority) for name in "abc"]
    tasks.append(await upload(story, "d", other_priority, 0))
    with pytest.raises(ServiceFull, match="all places are taken"):
        await (await story.start("late", priority))
    assert [task.done() for task in tasks] == [False] * 4
    tasks.pop().cancel()
    assert await story.finish(*tasks) == [None, None, None]


async def test_a_call_in_work_or_between_its_steps_keeps_its_place() -> None:
    story = AdmissionStory(waiting=1)
    work = await story.start("work", ARCHIVE)
    between = client("between", priority=ARCHIVE)
    with (
        enter(story.admission, between, 0),
        pytest.raises(ServiceFull, match="all places are taken"),
    ):
        await (await story.start("gate", GATE))
    assert await story.finish(work) == [None]


async def test_a_gate_takes_as_many_places_as_its_body_needs() -> None:
    story = AdmissionStory(waiting=10)
    work = await story.start("work", ARCHIVE)
    small, *large = [
        await story.start(name, ARCHIVE, size)
        for name, size in [("s", 10), ("l", MIB // 2), ("m", MIB // 4)]
    ]
    gate = await story.start("gate", GATE, MIB - 10)
    errors = await asyncio.gather(*large, return_exceptions=True)
    assert [type(error) for error in errors] == [Evicted, Evicted]
    assert story.admission.counts() == Counts(
        3, waiting=2, in_work=1, delayed_rejections=0, bytes=MIB
    )
    assert await story.finish(work, small, gate) == [None, None, None]


async def test_nobody_loses_a_place_in_vain() -> None:
    story = AdmissionStory()
    work = await story.start("work", ARCHIVE, MIB // 2)
    waiting = await story.start("x", ARCHIVE, 10)
    with pytest.raises(ServiceFull, match="memory for bodies"):
        await (await story.start("gate", GATE, MIB))
    assert await story.finish(work, waiting) == [None, None]


@pytest.mark.parametrize("steps", range(12))
@pytest.mark.parametrize("name", ["work", "next", "last"])
async def test_a_cancelled_call_never_takes_a_slot_with_it(steps: int, name: str) -> None:
    """Cancel each of three calls, some steps of the loop after the first slot is handed over."""
    order, before = ["work", "next", "last"], min(steps, 4)
    story = AdmissionStory()
    tasks = {caller: asyncio.create_task(story.call(client(caller), 0)) for caller in order}
    await settle(before)
    story.done.set()
    await settle(steps - before)
    tasks[name].cancel()
    await asyncio.gather(*tasks.values(), return_exceptions=True)
    assert set(story.ended) >= {*order} - {name}
    assert story.admission.counts() == NOTHING
    await story.start("after")
    assert story.ended[-1] == "after"


async def test_a_call_that_lost_its_place_may_be_cancelled_too() -> None:
    story = AdmissionStory(waiting=1)
    work, waiting = await story.start("work"), await story.start("waiting", ARCHIVE)
    gate = asyncio.create_task(story.call(client("gate", priority=GATE), 0))
    await settle(1)
    waiting.cancel()
    ends = await story.finish(work, waiting, gate)
    assert [type(end) for end in ends] == [type(None), asyncio.CancelledError, type(None)]
    assert story.admission.counts() == NOTHING


SLOW = Cost(seconds=0.7)


async def test_slow_pictures_leave_a_worker_to_others_and_a_client_has_one_in_work() -> None:
    story = AdmissionStory(calls=12, waiting=100)  # three pictures in work
    slow = [await story.start(name, cost=SLOW) for name in "aabcd"]
    usual = await story.start("usual"), await story.start("a")
    assert story.began == ["a", "b", "usual", "a"]
    await story.finish(*slow, *usual)
    assert story.began == ["a", "b", "usual", "a", "c", "d", "a"]
    assert story.admission.counts() == NOTHING


async def test_a_new_client_has_no_more_in_work_than_there_are_workers() -> None:
    story = AdmissionStory(calls=12, waiting=100)  # three pictures in work
    tasks = [await story.start("new") for _ in range(5)]
    tasks.append(await story.start("other"))
    assert story.began == [*["new"] * 3, "other"]
    await story.finish(*tasks)
    assert len(story.ended) == 6


async def test_many_plates_make_a_client_s_next_pictures_slow_for_a_while() -> None:
    story = AdmissionStory(calls=12, waiting=100)  # three pictures in work

    async def answer(plates: int) -> None:
        with enter(story.admission, client("a"), 0) as slot:
            async with story.admission.queue(slot) as turn:
                turn.plates = plates

    waiting = [await story.start("b") for _ in range(12)]
    waiting += [await story.start("a") for _ in range(3)]  # before anything is known of them
    many = asyncio.create_task(answer(100))
    await story.finish(*waiting, many)
    story.began.clear()
    story.done.clear()
    later = [await story.start("a") for _ in range(3)] + [await story.start("b")]
    assert story.began == ["a", "b"]
    await story.finish(*later)
    for _ in range(9):  # 100 plates are forgotten
        await answer(0)
    story.began.clear()
    story.done.clear()
    last = [await story.start("a") for _ in range(3)]
    assert story.began == ["a"] * 3
    await story.finish(*last)
    assert story.admission.counts() == NOTHING


async def test_a_gate_s_slow_picture_comes_before_those_that_wait() -> None:
    story = AdmissionStory(calls=4, waiting=100)
    slow = [await story.start(name, cost=SLOW) for name in "ab"]
    gate = await story.start("gate", GATE, cost=SLOW)
    await story.finish(*slow, gate)
    assert story.began == ["a", "gate", "b"]


async def test_a_slow_picture_that_is_given_up_leaves_its_turn_to_the_next() -> None:
    story = AdmissionStory(calls=4, waiting=100)
    first, second, third = [await story.start(name, cost=SLOW) for name in "abc"]
    second.cancel()
    first.cancel()
    await settle()
    assert story.began == ["a", "c"]
    await story.finish(first, second, third)
    assert story.admission.counts() == NOTHING
