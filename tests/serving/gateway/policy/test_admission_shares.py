"""Fair shares: slots and memory for calls of gates, turns for every client."""

import asyncio
from functools import partial

import pytest

from orchestrator.serving.gateway.errors import Evicted, QuotaExceeded, ServiceFull
from orchestrator.serving.gateway.options import MIB, Limits
from orchestrator.serving.gateway.policy.clients import ARCHIVE, GATE, USUAL, client_at
from orchestrator.serving.gateway.policy.fair_queue import FairOrder
from orchestrator.serving.gateway.policy.slots import Slot, Slots
from orchestrator.serving.protocol.inference import Cost
from tests.serving.gateway.stories import (
    NOTHING,
    AdmissionStory,
    admission,
    client,
    enter,
    enter_often,
    upload,
)
from tests.virtual_time import Clock

HALF = Cost(MIB // 2)


async def test_clients_of_one_priority_take_turns() -> None:
    story = AdmissionStory(waiting=100)
    names = [*"aaaabbcb", *"m" * 61]
    await story.finish(*[await story.start(name) for name in names])
    assert story.began[:12] == [*"abcmabmabmam"]
    assert len(story.ended) == len(names)


def test_a_client_that_was_away_has_no_turns_left_from_then_and_is_forgotten() -> None:
    order = FairOrder()
    assert [order.start(client("busy"), 1.0) for _ in range(3)] == [0.0, 1.0, 2.0]
    order.now = 2.0
    assert order.start(client("late"), 1.0) == 2.0
    assert order.start(client("late"), 1.0) == 3.0
    for number in range(10_000):
        order.now = order.start(client(str(number)), 1.0) + number
    assert len(order) <= 1000


async def test_a_picture_that_costs_more_takes_more_of_its_client_s_turns() -> None:
    story = AdmissionStory(waiting=100)
    dear = Cost(calls=3.0)
    calls = [("first", dear), *[("dear", dear)] * 3, *[("cheap", Cost())] * 5]
    await story.finish(*[await story.start(name, cost=cost) for name, cost in calls])
    order = [name[0] for name in story.began]
    assert order == ["f", "d", "c", "c", "c", "d", "c", "c", "d"]


async def test_a_picture_counts_as_the_calls_that_it_costs() -> None:
    async def turn(calls: float) -> None:
        with enter(admitting, client(rate=10.0), 0) as slot:
            async with admitting.queue(slot, Cost(calls=calls)):
                pass

    admitting = admission(clock := Clock())
    await turn(5.0)
    await turn(5.0)
    with pytest.raises(QuotaExceeded, match="calls a second: wanted at most 10"):
        await turn(1.0)
    clock.now_s += 0.1
    await turn(1.0)


async def test_each_picture_of_a_form_counts_as_a_call() -> None:
    admitting = admission()
    with enter(admitting, client(rate=4.0), 0) as slot:
        for _ in range(4):
            async with admitting.queue(slot):
                pass
    with pytest.raises(QuotaExceeded, match="calls a second"):
        enter_often(admitting, client(rate=4.0), 1)


@pytest.mark.parametrize(
    ("priority", "at_once"), [(GATE, 2), (USUAL, 1)], ids=["all of it", "a part is for gates"]
)
async def test_pictures_in_work_fit_the_memory(priority: int, at_once: int) -> None:
    story = AdmissionStory(calls=3, picture_mb=1, waiting=5)
    tasks = [await story.start(name, priority, cost=HALF) for name in "abc"]
    assert story.began == [*"abc"[:at_once]]
    counts = story.admission.counts()
    assert (counts.in_work, counts.picture_bytes) == (at_once, at_once * MIB // 2)
    tasks.append(await story.start("gate", GATE, cost=HALF))
    assert story.admission.counts().in_work == 2
    await story.finish(*tasks)
    assert sorted(story.ended) == ["a", "b", "c", "gate"]
    assert story.admission.counts() == NOTHING


async def test_a_small_picture_does_not_pass_a_large_one_that_waits_for_memory() -> None:
    story = AdmissionStory(calls=3, picture_mb=1, waiting=5)
    large = Cost(MIB)
    tasks = [await story.start(*call, cost=large) for call in [("a", USUAL), ("b", USUAL)]]
    tasks.append(await story.start("small", cost=Cost(1)))
    assert story.began == ["a"]
    await story.finish(*tasks)
    assert story.began == ["a", "b", "small"]


async def test_a_picture_that_waits_in_vain_is_told_and_lets_the_next_in() -> None:
    story = AdmissionStory(calls=3, picture_mb=1, waiting=5, wait_s=0.05)
    work = await story.start("work", GATE, cost=HALF)
    large = await story.start("large", GATE, cost=Cost(MIB))
    small = await story.start("small", GATE, cost=HALF)
    with pytest.raises(ServiceFull, match=r"turn did not come within 0\.05 s") as refused:
        await large
    assert refused.value.retry_after_s == 1.0
    await story.finish(work, small)
    assert story.ended == ["work", "small"]


@pytest.mark.parametrize(
    ("limits", "size", "uploads", "message"),
    [
        pytest.param({"memory_mb": 8, "waiting": 20}, MIB, 8, "memory for bodies", id="memory"),
        pytest.param({"waiting": 15}, 0, 15, "all places are taken", id="places"),
    ],
)
async def test_two_who_announce_bodies_do_not_shut_a_gate_out(
    limits: dict[str, int], size: int, uploads: int, message: str
) -> None:
    story = AdmissionStory(**limits)
    tasks = [await upload(story, "ab"[number % 2], USUAL, size) for number in range(uploads)]
    with pytest.raises(ServiceFull, match=message):
        await tasks[-1]
    await story.finish(await story.start("gate", GATE, size))
    assert story.ended == ["gate"]
    assert [task.done() for task in tasks] == [False] * (uploads - 1) + [True]
    tasks[0].cancel()  # its client hangs up
    ends = await story.finish(tasks[0])
    assert [type(end) for end in ends] == [asyncio.CancelledError]
    assert story.admission.counts().inside == uploads - 2
    _ = [task.cancel() for task in tasks]


@pytest.mark.parametrize("processes", [1, 2, 8])
@pytest.mark.parametrize("waiting", [1, 10, 96])
def test_a_client_never_takes_the_places_of_all_others(processes: int, waiting: int) -> None:
    limits = Limits(calls=8, waiting=waiting).share(processes)
    slots = Slots(limits)
    for _ in range(limits.client_calls):
        slots.add(Slot(client_at("192.0.2.1", limits)))
    slots.add(Slot(client_at("192.0.2.2", limits)))


async def test_uploads_are_evicted_before_calls_that_wait_and_the_latest_first() -> None:
    story = AdmissionStory(calls=1, waiting=3)
    early, late = [await upload(story, name, ARCHIVE, 0) for name in "ab"]
    waits = await story.start("work", ARCHIVE), await story.start("waits", ARCHIVE)
    gates = [await story.start("gate", GATE)]
    assert (early.done(), late.done(), waits[1].done()) == (False, True, False)
    gates.append(await story.start("gate", GATE))
    assert (early.done(), waits[1].done()) == (True, False)
    gates.append(await story.start("gate", GATE))
    await story.finish(waits[0], *gates)
    kinds = [type(task.exception()) for task in (early, late, waits[1])]
    assert kinds == [Evicted, Evicted, Evicted]


async def test_a_call_that_lost_its_place_receives_nothing_and_has_no_turn() -> None:
    admitting = admission()
    with enter(admitting, client(), 0) as slot:
        pass
    with pytest.raises(Evicted), admitting.receive(slot):
        pytest.fail("a call without a place receives")
    with pytest.raises(ServiceFull, match="took the place"):
        async with admitting.queue(slot):
            pytest.fail("a call without a place has a turn")
    assert admitting.counts() == NOTHING


class WatchedSlot(Slot):
    """A slot that counts how often slots of its class are looked at."""

    reads = 0

    def __getattribute__(self, name: str) -> object:
        WatchedSlot.reads += 1
        return super().__getattribute__(name)


class TestUploads:
    """Uploads take memory as they arrive; when memory is short, slow uploads are ended."""

    def slots(self, count: int) -> tuple[Slots, list[Slot], list[str]]:
        """Return slots, each of another client and receiving since second 0."""
        self.clock = Clock()
        self.clock.now_s = 0.0
        slots = Slots(Limits(calls=50, memory_mb=8, body_mb=4), self.clock)
        evicted_names = list[str]()
        uploads = [Slot(client(f"c{number}"), is_receiving=True) for number in range(count)]
        for slot in uploads:
            slot.evict = partial(evicted_names.append, slot.client.name)
            slots.add(slot)
        return slots, uploads, evicted_names

    def reserve_at(self, now_s: float, slots: Slots, slot: Slot, size: int) -> None:
        self.clock.now_s = now_s
        slots.reserve(slot, size)

    def test_announced_bodies_take_nothing_before_they_arrive(self) -> None:
        slots, uploads, _ = self.slots(30)
        for slot in uploads:
            slots.reserve(slot, 10)
        assert slots.bytes == 300
        slots.reserve(uploads[0], 20)
        assert slots.bytes == 310

    def test_clients_that_send_nothing_give_a_place_to_one_with_fewer_calls(self) -> None:
        slots, _, evicted = self.slots(0)
        places = range(7 * (50 + 96) // 8 + 1)
        uploads = [Slot(client("ab"[number % 2]), is_receiving=True) for number in places]
        for slot in uploads:
            slot.evict = partial(evicted.append, slot.client.name)
            slots.add(slot)
        with pytest.raises(ServiceFull, match="all places"):  # too early to tell
            slots.add(Slot(client("c")))
        self.clock.now_s = 1.1
        slots.reserve(uploads[0], 4 * MIB)  # the only one that sends
        slots.add(Slot(client("c")))
        assert evicted == ["b"]
        with pytest.raises(ServiceFull, match="all places"):
            slots.add(Slot(client("a")))

    @pytest.mark.parametrize("dripped_bytes", [0, 1000], ids=["stalled", "dripping"])
    def test_an_upload_that_sent_much_and_then_little_loses_its_memory(
        self, dripped_bytes: int
    ) -> None:
        slots, uploads, evicted_names = self.slots(3)
        self.reserve_at(0.5, slots, uploads[0], 3 * MIB)
        self.reserve_at(0.5, slots, uploads[1], 4 * MIB - 5000)
        with pytest.raises(ServiceFull, match="memory for bodies"):  # both were fast until now
            self.reserve_at(2.0, slots, uploads[2], 2 * MIB)
        self.reserve_at(2.5, slots, uploads[0], 3 * MIB + dripped_bytes)
        with pytest.raises(ServiceFull, match="memory for bodies"):
            self.reserve_at(2.9, slots, uploads[2], 4 * MIB)  # too early to tell
        self.reserve_at(3.1, slots, uploads[2], 2 * MIB)
        assert evicted_names in (["c0"], ["c1"])
        assert slots.bytes < 7 * MIB

    def test_an_upload_that_goes_on_keeps_its_memory(self) -> None:
        slots, uploads, evicted_names = self.slots(3)
        for now_s in range(1, 20):
            self.reserve_at(now_s, slots, uploads[0], now_s * MIB // 6)
            self.reserve_at(now_s, slots, uploads[1], now_s * MIB // 6)
            with pytest.raises(ServiceFull):
                self.reserve_at(now_s, slots, uploads[2], 8 * MIB)
        assert evicted_names == []

    def test_the_totals_come_back_to_zero_after_every_end(self) -> None:
        slots, uploads, evicted_names = self.slots(4)
        own = Slot(client("c0"), is_receiving=True)  # another call of the first client
        slots.add(own)
        for size in (64_000, 128_000, 3 * MIB):
            slots.reserve(uploads[0], size)
        slots.reserve(own, MIB)
        assert slots.bytes == 4 * MIB
        with pytest.raises(QuotaExceeded):
            slots.reserve(own, 2 * MIB)
        assert slots.bytes == 4 * MIB
        slots.reserve(uploads[1], 3 * MIB - 1000)
        self.reserve_at(100.0, slots, uploads[2], 3 * MIB)  # evicts slow ones
        assert evicted_names == ["c1"]
        slots.remove(uploads[1])  # it has no place any more
        gate = Slot(client("gate", priority=GATE), is_receiving=True)
        slots.add(gate)
        self.reserve_at(100.1, slots, gate, 4 * MIB)
        slots.reserve(gate, 1000)  # less than was announced
        for slot in (*uploads, own, gate, gate):
            slots.remove(slot)
        assert (slots.bytes, len(slots)) == (0, 0)
        for name in ("c0", "c1", "c2", "c3", "gate"):
            slots.add(late := Slot(client(name)))
            slots.reserve(late, 4 * MIB)  # all that one client may have
            slots.remove(late)

    def test_a_part_of_a_body_costs_the_same_beside_many_calls(self) -> None:
        slots, uploads, _ = self.slots(1)
        other_slots = [WatchedSlot(client("c0")) for _ in range(40)]
        for slot in other_slots:
            slots.add(slot)
            slots.reserve(slot, 10)
        WatchedSlot.reads = 0
        slots.reserve(uploads[0], 2000)
        assert (slots.bytes, WatchedSlot.reads) == (2400, 0)

    def test_a_call_in_work_keeps_its_body(self) -> None:
        slots, uploads, evicted_names = self.slots(2)
        slots.reserve(uploads[0], 4 * MIB - 1)
        uploads[0].is_receiving = False
        with pytest.raises(ServiceFull, match="memory for bodies"):
            self.reserve_at(100.0, slots, uploads[1], 4 * MIB)
        assert evicted_names == []
