"""A watcher among others, with leases that follow a script."""

import asyncio
import gc
import os
import socket
import threading
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from orchestrator.errors import PlateError, SettingsError
from plate_cameras.passes import LeaseClaim
from plate_cameras.store.errors import StoreUnavailable
from plate_cameras.store.leases.camera_leases import Holding
from plate_cameras.watching import leases as leases_module
from plate_cameras.watching.leases import (
    ROUND_S,
    SHORT_ROUND_S,
    CameraSharing,
    DatabaseCalls,
    SharedCameras,
)
from tests.plate_cameras.samples import make_event, make_frame
from tests.virtual_time import virtually

LEASE_S = 6.0
AWAY = StoreUnavailable("away")
FAULTS = [
    pytest.param(SettingsError("a camera cannot be opened"), id="settings"),
    pytest.param(OSError(24, "too many open files"), id="system"),
    pytest.param(KeyError("gate"), id="a-fault-of-ours"),
]


class ScriptedLeases:
    """Answers with given holdings or errors in turn; the last one is repeated."""

    lease_s = LEASE_S

    def __init__(self) -> None:
        self.answers: list[Holding | Exception] = [Holding({}, 0)]
        self.faults: list[Exception] = []
        self.took: list[bool] = []
        self.asked_by: set[tuple[str, int]] = set()
        self.given_back: list[str] = []
        self.has_left = False

    def hold(
        self, watcher: str, cameras: Collection[str], *, most: int = 0, takes: bool = True
    ) -> Holding:
        del cameras
        self.asked_by.add((watcher, most))
        self.took.append(takes)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def give_back(self, watcher: str, cameras: Collection[str]) -> None:
        del watcher
        if self.faults:
            raise self.faults.pop()
        self.given_back += sorted(cameras)

    def leave(self, watcher: str) -> None:
        del watcher
        if self.faults:
            raise self.faults.pop()
        self.has_left = True


class Member:
    """A watcher whose clock only the test moves."""

    def __init__(self, *, most: int = 0) -> None:
        self.leases = ScriptedLeases()
        self.may_follow = asyncio.Event()
        self.may_follow.set()
        self.change_count = 0
        self.now_s = 100.0
        self.follow_calls: list[list[str]] = []
        self.last_claim: LeaseClaim | None = None
        self.open_passes: Mapping[str, int] = {}
        self.faults: list[Exception] = []
        cameras = SharedCameras(lambda: ["gate", "yard"], self.follow, self.count_open, most)
        self.sharing = CameraSharing(self.leases, cameras, watcher="me", clock=lambda: self.now_s)

    async def follow(self, names: Collection[str]) -> None:
        """Change the followed cameras, unless a fault is left; a camera's last pass is closed."""
        self.change_count += 1
        await self.may_follow.wait()
        if self.faults:
            raise self.faults.pop()
        self.last_claim = self.claim_at(50.0)
        self.follow_calls.append(sorted(names))

    def count_open(self, name: str) -> int:
        return self.open_passes.get(name, 0)

    async def hold(self, epochs: Mapping[str, int], quota: int = 2) -> None:
        """Renew the leases once with this answer, and adjust the followed cameras."""
        await self.answer(Holding(epochs, quota))

    async def answer(self, answer: Holding | Exception) -> None:
        await self.renew(answer)
        await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}))

    async def renew(self, answer: Holding | Exception) -> bool:
        """Renew the leases once with this answer; changes that follow go on in the background."""
        self.leases.answers = [answer]
        is_short = await self.sharing.renew()
        await asyncio.sleep(0)
        return is_short

    async def look(self, time_s: float) -> bool:
        return await self.sharing.permit(make_frame("gate", time_s=time_s))

    def claim_of(self, last_seen_s: float, *, moment_s: float) -> LeaseClaim | None:
        """Return the claim of a pass, by the steady time of its last frame."""
        event = make_event(camera="gate")
        vehicle_pass = replace(event.passed, last_seen_s=last_seen_s, last_moment_s=moment_s)
        return self.sharing.claim(replace(event, passed=vehicle_pass)).claim

    def claim_at(self, last_seen_s: float) -> LeaseClaim | None:
        event = make_event(camera="gate")
        vehicle_pass = replace(event.passed, last_seen_s=last_seen_s)
        return self.sharing.claim(replace(event, passed=vehicle_pass)).claim


@asynccontextmanager
async def playing() -> AsyncIterator[Member]:
    """Yield a member, which leaves at the end."""
    member = Member()
    yield member
    await member.sharing.leave()


async def test_a_new_watcher_takes_nothing_until_others_had_time_to_renew() -> None:
    async with playing() as member:
        await member.hold({})
        member.now_s += LEASE_S - 1
        await member.hold({})
        member.now_s += 1
        await member.hold({})
    assert member.leases.took == [False, False, True]


async def test_after_a_fault_of_the_database_it_takes_nothing_either() -> None:
    async with playing() as member:
        await member.hold({"gate": 1})
        member.now_s += LEASE_S
        await member.answer(AWAY)
        await member.hold({"gate": 1})
        member.now_s += LEASE_S
        await member.hold({"gate": 1})
    assert member.leases.took == [False, True, False, True]
    assert member.follow_calls == [["gate"]]


async def test_a_camera_that_was_taken_and_came_back_is_begun_anew() -> None:
    async with playing() as member:
        await member.hold({"gate": 1})
        await member.hold({"gate": 3})
    assert member.follow_calls == [["gate"], [], ["gate"]]
    assert member.sharing.lost == 1


async def test_cameras_without_vehicles_are_given_back_first() -> None:
    async with playing() as member:
        await member.hold({"gate": 1, "yard": 1})
        member.open_passes = {"gate": 1}
        await member.hold({"gate": 1, "yard": 1}, quota=1)
    assert member.follow_calls == [["gate", "yard"], ["gate"]]
    assert member.leases.given_back == ["yard"]
    assert member.sharing.lost == 0
    assert member.leases.has_left


@pytest.mark.parametrize(
    ("age_s", "is_certain"),
    [(0.0, True), (LEASE_S - 0.6, True), (LEASE_S - 0.4, False), (LEASE_S + 1, False)],
)
async def test_frames_are_used_without_the_database_and_certain_while_the_lease_is_valid(
    age_s: float, is_certain: bool
) -> None:
    """A lease ends half a second early, for the time of a call."""
    async with playing() as member:
        await member.hold({"gate": 4})
        assert await member.look(50.0)
        member.now_s += age_s
        await member.answer(AWAY)
        assert await member.look(57.0)
        assert member.claim_at(50.0) == LeaseClaim(4, True)
        assert member.claim_at(57.0) == LeaseClaim(4, is_certain)
        await member.hold({"gate": 4})
        assert await member.look(58.0)
        assert member.claim_at(58.0) == LeaseClaim(4, True)
        assert member.claim_at(58.1) == LeaseClaim(4, False)
    assert member.follow_calls == [["gate"]]


async def test_a_frozen_watcher_uses_no_frame_before_it_knows_its_leases() -> None:
    async with playing() as member:
        await member.hold({"gate": 4})
        await member.look(50.0)
        member.now_s += 60
        looking = asyncio.create_task(member.look(51.0))
        await asyncio.sleep(0)
        assert not looking.done()
        member.leases.answers = [Holding({}, 2)]
        await member.sharing.renew()
        assert not await looking
    assert member.follow_calls == [["gate"], []]
    assert member.last_claim == LeaseClaim(4, True)


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_change_that_fails_is_made_at_a_later_round(
    fault: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    async with playing() as member:
        member.faults = [fault] * 3
        for _ in range(5):
            await member.hold({"gate": 1, "yard": 1})
        assert member.sharing.failures == 3
        (record_told,) = [record for record in caplog.records if "cannot change" in record.message]
        assert bool(record_told.exc_info) != isinstance(fault, PlateError)
        member.faults = [fault]
        await member.hold({"yard": 1})
        assert not await member.look(50.0)
        await member.hold({"yard": 1})
    assert member.follow_calls == [["gate", "yard"], ["yard"]]
    assert member.sharing.lost == 1


@pytest.mark.parametrize("fault", [AWAY, *(one.values[0] for one in FAULTS)])
async def test_a_camera_that_could_not_be_given_back_is_given_back_later(fault: Exception) -> None:
    async with playing() as member:
        await member.hold({"gate": 1, "yard": 1})
        member.leases.faults = [fault]
        await member.hold({"gate": 1, "yard": 1}, quota=1)
        member.now_s += 1
        await member.hold({"gate": 1, "yard": 1}, quota=1)
    assert member.leases.given_back == ["gate"]
    assert member.follow_calls[-1] == ["yard"]


@pytest.mark.parametrize("fault", FAULTS)
async def test_any_fault_of_a_renewal_is_told_and_the_next_round_asks_again(
    fault: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    async with playing() as member:
        assert not await member.renew(fault)
        for _ in range(2):
            await member.answer(fault)
        assert member.sharing.last_error == str(fault)
        await member.hold({"gate": 1})
        assert member.sharing.last_error == ""
    assert member.follow_calls == [["gate"]]
    (record_told,) = [record for record in caplog.records if "cannot be renewed" in record.message]
    assert bool(record_told.exc_info) != isinstance(fault, PlateError)


async def test_a_watcher_that_cannot_give_its_cameras_back_ends_all_the_same(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with playing() as member:
        member.leases.faults = [AWAY]
    assert not member.leases.has_left
    assert "not given back" in caplog.text


@pytest.mark.parametrize("behind_s", [-50.0, 0.0, 3600.0])
async def test_a_step_of_a_cameras_clock_makes_no_pass_certain(behind_s: float) -> None:
    """The lease ends. A later frame has a time before the permitted frames."""
    async with playing() as member:
        await member.hold({"gate": 4})
        frame = replace(make_frame("gate", time_s=1000.0), clock="stream", steady_s=member.now_s)
        assert await member.sharing.permit(frame)
        assert member.claim_of(1000.0, moment_s=member.now_s) == LeaseClaim(4, True)
        member.now_s += LEASE_S + 1
        await member.answer(AWAY)
        later = replace(frame, time_s=1000.0 - behind_s, steady_s=member.now_s)
        assert await member.sharing.permit(later)
        claim = member.claim_of(1000.0 - behind_s, moment_s=member.now_s)
        assert claim == LeaseClaim(4, False)


async def test_other_watchers_with_cameras_to_give_back_are_asked_sooner() -> None:
    async with playing() as member:
        await member.hold({"gate": 1})
        member.now_s += LEASE_S
        assert await member.renew(Holding({"gate": 1}, 2))
        assert not await member.renew(Holding({"gate": 1}, 1))


async def test_a_call_that_hangs_is_given_up_and_harms_no_later_one(
    caplog: pytest.LogCaptureFixture,
) -> None:
    calls, goes_on = DatabaseCalls(), threading.Event()

    def fail_late() -> None:
        goes_on.wait()
        raise StoreUnavailable("away")

    for call in (fail_late, fail_late):  # the second one waits for the first one
        with pytest.raises(StoreUnavailable, match="not answered"):
            await calls.run(call, 0.01)
    goes_on.set()
    assert await calls.run(lambda: 2, 20) == 2
    with pytest.raises(KeyError):
        await calls.run(lambda: {}["key"], 20)
    gc.collect()
    assert "never retrieved" not in caplog.text


async def test_a_call_keeps_no_process_from_ending() -> None:
    assert await DatabaseCalls().run(lambda: threading.current_thread().daemon, 20)


async def test_a_call_without_a_thread_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", fail)
    with pytest.raises(StoreUnavailable, match="no thread can be started"):
        await DatabaseCalls().run(lambda: 1, 0.01)


async def test_a_watcher_asks_by_a_name_of_its_own_and_for_no_more_than_it_can_follow() -> None:
    member = Member(most=3)
    await member.hold({})
    assert member.leases.asked_by == {("me", 3)}
    cameras = SharedCameras(lambda: [], member.follow, member.count_open)
    names = {CameraSharing(member.leases, cameras).watcher for _ in range(20)}
    assert len(names) == 20
    assert {name.rpartition("-")[0] for name in names} == {f"{socket.gethostname()}-{os.getpid()}"}


async def test_cameras_change_one_time_after_the_other() -> None:
    async with playing() as member:
        member.may_follow.clear()
        for _ in range(3):
            await member.renew(Holding({"gate": 1}, 2))
        assert member.change_count == 1
        member.may_follow.set()
        await member.hold({"gate": 1})
    assert member.follow_calls == [["gate"]]


async def test_a_watcher_that_leaves_waits_for_the_end_of_a_change(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    order: list[str] = []

    async def follow(_: Collection[str]) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.05)
            order.append("the change has ended")

    leases = ScriptedLeases()
    leases.answers = [Holding({"gate": 1}, 1)]
    monkeypatch.setattr(leases, "leave", lambda _: order.append("the cameras are given back"))
    sharing = CameraSharing(leases, SharedCameras(lambda: ["gate"], follow, lambda _: 0))
    await sharing.renew()
    await asyncio.sleep(0)
    await sharing.leave()
    assert order == ["the change has ended", "the cameras are given back"]


@virtually
async def test_rounds_are_short_while_others_have_cameras_to_give_back() -> None:
    at_s: list[float] = []

    class Rounds(CameraSharing):
        async def renew(self) -> bool:
            at_s.append(asyncio.get_running_loop().time())
            return len(at_s) <= 2

    cameras = SharedCameras(lambda: [], Member().follow, lambda _: 0)
    rounds = asyncio.create_task(Rounds(ScriptedLeases(), cameras).run())
    await asyncio.sleep(2 * SHORT_ROUND_S + 2.5 * ROUND_S)
    rounds.cancel()
    waits_s = [after - before for before, after in pairwise(at_s)]
    assert waits_s == pytest.approx([SHORT_ROUND_S, SHORT_ROUND_S, ROUND_S, ROUND_S])


class InlineThread:
    """A thread that makes calls at once, because virtual time does not wait for threads."""

    def __init__(self, *, target: Callable[..., None], args: tuple[Any, ...], **_: Any) -> None:
        self.target, self.args = target, args

    def start(self) -> None:
        self.target(*self.args)


@pytest.mark.parametrize(
    ("frozen_s", "renewed_s", "permitted_s"),
    [
        pytest.param(5.4, 99.0, 5.4, id="while-the-lease-is-valid-at-once"),
        pytest.param(5.5, 99.0, 7.5, id="without-a-renewal-for-two-seconds"),
        pytest.param(60.0, 99.0, 62.0, id="after-a-minute-for-two-seconds"),
        pytest.param(60.0, 60.5, 60.5, id="until-the-renewal"),
    ],
)
@virtually
async def test_a_frame_after_a_freeze_waits(
    monkeypatch: pytest.MonkeyPatch, frozen_s: float, renewed_s: float, permitted_s: float
) -> None:
    at_s: list[float] = []
    monkeypatch.setattr(leases_module, "Thread", InlineThread)
    loop, leases = asyncio.get_running_loop(), ScriptedLeases()
    leases.answers = [Holding({"gate": 1}, 1)]
    cameras = SharedCameras(lambda: ["gate"], Member().follow, lambda _: 0)
    sharing = CameraSharing(leases, cameras, clock=loop.time)
    await sharing.renew()
    await asyncio.sleep(frozen_s)
    looking = asyncio.create_task(sharing.permit(make_frame("gate", time_s=50.0)))
    looking.add_done_callback(lambda _: at_s.append(loop.time()))
    await asyncio.sleep(renewed_s - frozen_s)
    await sharing.renew()
    assert await looking
    assert at_s[0] == pytest.approx(permitted_s)
