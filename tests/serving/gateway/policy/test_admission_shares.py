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
from tests.serving.gateway.stories import NOTHING, Story, admission, client, enter, settle
from tests.virtual_time import Clock

HALF = Cost(MIB // 2)


async def upload(story: Story, name: str, priority: int, size: int) -> asyncio.Task[None]:
    task = asyncio.create_task(story.upload(client(name, priority=priority), size))
    await settle()
    return task


async def test_a_client_s_many_calls_delay_another_s_single_one_by_one() -> None:
    story = Story(waiting=100)
    tasks = [await story.start("many") for _ in range(61)]
    tasks.append(await story.start("single"))
    await story.finish(*tasks)
    assert story.began[:4] == ["many", "single", "many", "many"]
    assert len(story.ended) == 62


async def test_clients_of_one_priority_take_turns() -> None:
    story = Story(waiting=100)
    names = ["a", "a", "a", "a", "b", "b", "c", "b"]
    await story.finish(*[await story.start(name) for name in names])
    assert story.began == ["a", "b", "c", "a", "b", "a", "b", "a"]


def test_a_client_that_was_away_has_no_turns_left_from_then() -> None:
    order = FairOrder()
    assert [order.start(client("busy"), 1.0) for _ in range(3)] == [0.0, 1.0, 2.0]
    order.now = 2.0
    assert order.start(client("late"), 1.0) == 2.0
    assert order.start(client("late"), 1.0) == 3.0


async def test_a_picture_that_costs_more_takes_more_of_its_client_s_turns() -> None:
    story = Story(waiting=100)
    dear = Cost(calls=3.0)
    calls = [("first", dear), *[("dear", dear)] * 3, *[("cheap", Cost())] * 5]
    await story.finish(*[await story.start(name, cost=cost) for name, cost in calls])
    order = [name[0] for name in story.began]
    assert order == ["f", "d", "c", "c", "c", "d", "c", "c", "d"]


def test_clients_without_calls_are_forgotten() -> None:
    order = FairOrder()
    for number in range(10_000):
        order.now = order.start(client(str(number)), 1.0) + number
    assert len(order) <= 1000


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
    clock.now += 0.1
    await turn(1.0)


async def test_each_picture_of_a_form_counts_as_a_call() -> None:
    admitting = admission()
    with enter(admitting, client(rate=4.0), 0) as slot:
        for _ in range(4):
            async with admitting.queue(slot):
                pass
    with (
        pytest.raises(QuotaExceeded, match="calls a second"),
        enter(admitting, client(rate=4.0), 0),
    ):
        pass


async def test_pictures_in_work_fit_the_memory() -> None:
    story = Story(calls=3, picture_mb=1, waiting=5)
    tasks = [await story.start(name, GATE, cost=HALF) for name in "abc"]
    assert story.began == ["a", "b"]
    counts = story.admission.counts()
    assert (counts.in_work, counts.waiting, counts.unpacked) == (2, 1, MIB)
    await story.finish(*tasks)
    assert story.ended == ["a", "b", "c"]
    assert story.admission.counts() == NOTHING


async def test_a_small_picture_does_not_pass_a_large_one_that_waits_for_memory() -> None:
    story = Story(calls=3, picture_mb=1, waiting=5)
    large = Cost(MIB)
    tasks = [await story.start(*one, cost=large) for one in [("a", USUAL), ("b", USUAL)]]
    tasks.append(await story.start("small", cost=Cost(1)))
    assert story.began == ["a"]
    await story.finish(*tasks)
    assert story.began == ["a", "b", "small"]


async def test_a_part_of_the_memory_for_pictures_is_kept_for_gates() -> None:
    story = Story(calls=4, picture_mb=1, waiting=5)
    tasks = [await story.start(name, cost=HALF) for name in "ab"]
    assert story.began == ["a"]
    tasks.append(await story.start("gate", GATE, cost=HALF))
    assert story.began == ["a", "gate"]
    await story.finish(*tasks)
    assert story.admission.counts() == NOTHING


async def test_a_picture_that_waits_for_memory_in_vain_is_told_and_lets_the_next_in() -> None:
    story = Story(calls=3, picture_mb=1, waiting=5, wait_s=0.05)
    work = await story.start("work", GATE, cost=HALF)
    large = await story.start("large", GATE, cost=Cost(MIB))
    small = await story.start("small", GATE, cost=HALF)
    with pytest.raises(ServiceFull, match="turn did not come within"):
        await large
    await story.finish(work, small)
    assert story.ended == ["work", "small"]


async def test_two_who_announce_bodies_do_not_shut_a_gate_out() -> None:
    story = Story(memory_mb=8, waiting=20)
    uploads = [await upload(story, name, USUAL, MIB) for name in "aaaabbbb"]
    with pytest.raises(ServiceFull, match="memory for bodies"):
        await uploads[-1]
    await story.finish(await story.start("gate", GATE, MIB))
    assert story.ended == ["gate"]
    assert [task.done() for task in uploads] == [False] * 7 + [True]
    [task.cancel() for task in uploads]


async def test_two_who_hold_all_places_do_not_shut_a_gate_out() -> None:
    story = Story(calls=1, waiting=15)
    uploads = [await upload(story, name, USUAL, 0) for name in ["a", "b"] * 8]
    assert sum(task.done() for task in uploads) == 2
    gates = [await story.start("gate", GATE) for _ in range(2)]
    await story.finish(*gates)
    assert story.ended == ["gate", "gate"]
    [task.cancel() for task in uploads]
    await asyncio.gather(*uploads, return_exceptions=True)


@pytest.mark.parametrize("processes", [1, 2, 8])
@pytest.mark.parametrize("waiting", [1, 10, 96])
def test_a_client_never_takes_the_places_of_all_others(processes: int, waiting: int) -> None:
    limits = Limits(calls=8, waiting=waiting).share(processes)
    slots = Slots(limits)
    for _ in range(limits.client_calls):
        slots.add(Slot(client_at("192.0.2.1", limits)))
    slots.add(Slot(client_at("192.0.2.2", limits)))


async def test_an_upload_of_worse_priority_is_evicted_at_once() -> None:
    story = Story(memory_mb=2, waiting=20)
    waits = await story.start("waits", ARCHIVE), await story.start("waits", ARCHIVE, 10)
    sends = await upload(story, "sends", ARCHIVE, MIB)
    gate = await story.start("gate", GATE, 2 * MIB - 10)
    with pytest.raises(Evicted, match="a call of better priority took the place"):
        await sends
    await story.finish(gate, *waits)
    assert story.ended == ["waits", "gate", "waits"]
    assert story.admission.counts() == NOTHING


async def test_uploads_are_evicted_before_calls_that_wait_and_the_latest_first() -> None:
    story = Story(calls=1, waiting=3)
    early, late = [await upload(story, name, ARCHIVE, 0) for name in "ab"]
    waits = await story.start("work", ARCHIVE), await story.start("waits", ARCHIVE)
    gates = [await story.start("gate", GATE)]
    assert (early.done(), late.done(), waits[1].done()) == (False, True, False)
    gates.append(await story.start("gate", GATE))
    assert (early.done(), waits[1].done()) == (True, False)
    gates.append(await story.start("gate", GATE))
    await story.finish(waits[0], *gates)
    kinds = [type(one.exception()) for one in (early, late, waits[1])]
    assert kinds == [Evicted, Evicted, Evicted]


async def test_an_upload_of_equal_priority_keeps_its_place() -> None:
    story = Story(calls=1, waiting=1)
    uploads = [await upload(story, name, USUAL, 0) for name in "ab"]
    with pytest.raises(ServiceFull, match="all places are taken"):
        await (await story.start("c"))
    assert not any(task.done() for task in uploads)
    [task.cancel() for task in uploads]


async def test_a_client_that_hangs_up_while_sending_leaves_nothing_behind() -> None:
    story = Story()
    sends = await upload(story, "sends", USUAL, 10)
    sends.cancel()
    assert [type(one) for one in await story.finish(sends)] == [asyncio.CancelledError]
    assert story.admission.counts() == NOTHING


def test_a_call_that_lost_its_place_receives_nothing() -> None:
    admitting = admission()
    with enter(admitting, client(), 0) as slot:
        pass
    with pytest.raises(Evicted), admitting.receive(slot):
        pytest.fail("a call without a place receives")


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
        self.clock.now = 0.0
        slots = Slots(Limits(calls=50, memory_mb=8, body_mb=4), self.clock)
        evicted = list[str]()
        uploads = [Slot(client(f"c{number}"), is_receiving=True) for number in range(count)]
        for one in uploads:
            one.evict = partial(evicted.append, one.client.name)
            slots.add(one)
        return slots, uploads, evicted

    def reserve_at(self, now_s: float, slots: Slots, slot: Slot, size: int) -> None:
        self.clock.now = now_s
        slots.reserve(slot, size)

    def test_announced_bodies_take_nothing_before_they_arrive(self) -> None:
        slots, uploads, _ = self.slots(30)
        for one in uploads:
            slots.reserve(one, 10)
        assert slots.bytes == 300
        slots.reserve(uploads[0], 20)
        assert slots.bytes == 310

    @pytest.mark.parametrize("dripped", [0, 1000], ids=["stalled", "dripping"])
    def test_an_upload_that_sent_much_and_then_little_loses_its_memory(self, dripped: int) -> None:
        slots, uploads, evicted = self.slots(3)
        self.reserve_at(0.5, slots, uploads[0], 3 * MIB)
        self.reserve_at(0.5, slots, uploads[1], 4 * MIB - 5000)
        with pytest.raises(ServiceFull, match="memory for bodies"):  # both were fast until now
            self.reserve_at(2.0, slots, uploads[2], 2 * MIB)
        self.reserve_at(2.5, slots, uploads[0], 3 * MIB + dripped)
        with pytest.raises(ServiceFull, match="memory for bodies"):
            self.reserve_at(2.9, slots, uploads[2], 4 * MIB)  # too early to tell
        self.reserve_at(3.1, slots, uploads[2], 2 * MIB)
        assert evicted in (["c0"], ["c1"])
        assert slots.bytes < 7 * MIB

    def test_an_upload_that_goes_on_keeps_its_memory(self) -> None:
        slots, uploads, evicted = self.slots(3)
        for now_s in range(1, 20):
            self.reserve_at(now_s, slots, uploads[0], now_s * MIB // 6)
            self.reserve_at(now_s, slots, uploads[1], now_s * MIB // 6)
            with pytest.raises(ServiceFull):
                self.reserve_at(now_s, slots, uploads[2], 8 * MIB)
        assert evicted == []

    def test_the_totals_come_back_to_zero_after_every_end(self) -> None:
        slots, uploads, evicted = self.slots(4)
        own = Slot(client("c0"), is_receiving=True)  # another call of the first client
        slots.add(own)
        for size in (64_000, 128_000, 3 * MIB):
            slots.reserve(uploads[0], size)
        slots.reserve(own, MIB)
        assert (slots.bytes_of("c0"), slots.bytes) == (4 * MIB, 4 * MIB)
        with pytest.raises(QuotaExceeded):
            slots.reserve(own, 2 * MIB)
        assert slots.bytes_of("c0") == 4 * MIB
        slots.reserve(uploads[1], 3 * MIB - 1000)
        self.reserve_at(100.0, slots, uploads[2], 3 * MIB)  # evicts slow ones
        assert evicted == ["c1"]
        slots.remove(uploads[1])  # it has no place any more
        gate = Slot(client("gate", priority=GATE), is_receiving=True)
        slots.add(gate)
        self.reserve_at(100.1, slots, gate, 4 * MIB)
        slots.reserve(gate, 1000)  # less than was announced
        for one in (*uploads, own, gate, gate):
            slots.remove(one)
        names = ("c0", "c1", "c2", "c3", "gate")
        assert [slots.bytes_of(name) for name in names] == [0] * 5
        assert (slots.bytes, len(slots)) == (0, 0)

    def test_a_part_of_a_body_costs_the_same_beside_many_calls(self) -> None:
        slots, uploads, _ = self.slots(1)
        others = [WatchedSlot(client("c0")) for _ in range(40)]
        for one in others:
            slots.add(one)
            slots.reserve(one, 10)
        WatchedSlot.reads = 0
        slots.reserve(uploads[0], 2000)
        assert (slots.bytes_of("c0"), WatchedSlot.reads) == (2400, 0)

    def test_a_call_in_work_keeps_its_body(self) -> None:
        slots, uploads, evicted = self.slots(2)
        slots.reserve(uploads[0], 4 * MIB - 1)
        uploads[0].is_receiving = False
        with pytest.raises(ServiceFull, match="memory for bodies"):
            self.reserve_at(100.0, slots, uploads[1], 4 * MIB)
        assert evicted == []
