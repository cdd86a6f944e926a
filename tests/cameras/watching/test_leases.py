"""A watcher among others, with leases that follow a script."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import replace

import pytest

from orchestrator.cameras.passes import LeaseClaim
from orchestrator.cameras.store.camera_leases import Holding
from orchestrator.cameras.store.errors import StoreUnavailable
from orchestrator.cameras.watching.leases import CameraSharing, DatabaseCalls, Shared
from orchestrator.errors import SettingsError
from tests.cameras.samples import make_event, make_frame

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
        self.given_back: list[str] = []
        self.has_left = False

    def hold(
        self, watcher: str, cameras: Collection[str], *, most: int = 0, takes: bool = True
    ) -> Holding:
        del watcher, cameras, most
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
    """A watcher whose clock stands still unless it is moved."""

    def __init__(self) -> None:
        self.leases = ScriptedLeases()
        self.now_s = 100.0
        self.followed: list[list[str]] = []
        self.last_claim: LeaseClaim | None = None
        self.open_passes: Mapping[str, int] = {}
        self.faults: list[Exception] = []
        shared = Shared(lambda: ["gate", "yard"], self.follow, self.count_open)
        self.sharing = CameraSharing(self.leases, shared, watcher="me", clock=lambda: self.now_s)

    async def follow(self, names: Collection[str]) -> None:
        """Follow, unless a fault is left; the camera's last pass is closed here."""
        if self.faults:
            raise self.faults.pop()
        self.last_claim = self.claim_at(50.0)
        self.followed.append(sorted(names))

    def count_open(self, name: str) -> int:
        return self.open_passes.get(name, 0)

    async def hold(self, epochs: Mapping[str, int], quota: int = 2) -> None:
        """Renew once, with this answer, and adjust to it."""
        await self.answer(Holding(epochs, quota))

    async def answer(self, answer: Holding | Exception) -> None:
        self.leases.answers = [answer]
        await self.sharing.renew()
        await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}))

    async def look(self, time_s: float) -> bool:
        return await self.sharing.permit(make_frame("gate", time_s=time_s))

    def claim_of(self, last_seen_s: float, *, moment_s: float) -> LeaseClaim | None:
        """Return the claim of a pass whose last frame has a steady moment."""
        event = make_event(camera="gate")
        passed = replace(event.passed, last_seen_s=last_seen_s, last_moment_s=moment_s)
        return self.sharing.claim(replace(event, passed=passed)).claim

    def claim_at(self, last_seen_s: float) -> LeaseClaim | None:
        event = make_event(camera="gate")
        passed = replace(event.passed, last_seen_s=last_seen_s)
        return self.sharing.claim(replace(event, passed=passed)).claim


def play(act: Callable[[Member], Awaitable[None]]) -> Member:
    """Run a script with a member."""

    async def run() -> Member:
        member = Member()
        await act(member)
        await member.sharing.leave()
        return member

    return asyncio.run(run())


def test_a_new_watcher_takes_nothing_until_others_had_time_to_renew() -> None:
    async def act(member: Member) -> None:
        await member.hold({})
        member.now_s += LEASE_S - 1
        await member.hold({})
        member.now_s += 1
        await member.hold({})

    assert play(act).leases.took == [False, False, True]


def test_after_a_fault_of_the_database_it_takes_nothing_either() -> None:
    async def act(member: Member) -> None:
        await member.hold({"gate": 1})
        member.now_s += LEASE_S
        await member.answer(AWAY)
        await member.hold({"gate": 1})
        member.now_s += LEASE_S
        await member.hold({"gate": 1})

    member = play(act)
    assert member.leases.took == [False, True, False, True]
    assert member.followed == [["gate"]]


def test_a_camera_that_another_watcher_took_is_dropped() -> None:
    async def act(member: Member) -> None:
        await member.hold({"gate": 1, "yard": 1})
        await member.hold({"yard": 1})

    member = play(act)
    assert member.followed == [["gate", "yard"], ["yard"]]
    assert member.sharing.lost == 1


def test_a_camera_that_was_taken_and_came_back_is_begun_anew() -> None:
    async def act(member: Member) -> None:
        await member.hold({"gate": 1})
        await member.hold({"gate": 3})

    member = play(act)
    assert member.followed == [["gate"], [], ["gate"]]
    assert member.sharing.lost == 1


def test_cameras_without_vehicles_are_given_back_first() -> None:
    async def act(member: Member) -> None:
        await member.hold({"gate": 1, "yard": 1})
        member.open_passes = {"gate": 1}
        await member.hold({"gate": 1, "yard": 1}, quota=1)

    member = play(act)
    assert member.followed == [["gate", "yard"], ["gate"]]
    assert member.leases.given_back == ["yard"]
    assert member.sharing.lost == 0
    assert member.leases.has_left


def test_a_pass_is_certain_while_the_lease_is_valid() -> None:
    async def act(member: Member) -> None:
        await member.hold({"gate": 4})
        assert await member.look(50.0)
        assert member.claim_at(50.0) == LeaseClaim(4, True)
        assert member.claim_at(50.1) == LeaseClaim(4, False)

    play(act)


def test_without_the_database_it_goes_on_and_is_not_certain() -> None:
    async def act(member: Member) -> None:
        await member.hold({"gate": 4})
        await member.look(50.0)
        member.now_s += LEASE_S + 1
        await member.answer(AWAY)
        assert await member.look(57.0)
        assert member.claim_at(50.0) == LeaseClaim(4, True)
        assert member.claim_at(57.0) == LeaseClaim(4, False)
        await member.hold({"gate": 4})
        assert await member.look(58.0)
        assert member.claim_at(58.0) == LeaseClaim(4, True)

    assert play(act).followed == [["gate"]]


def test_a_frozen_watcher_uses_no_frame_before_it_knows_its_leases() -> None:
    async def act(member: Member) -> None:
        await member.hold({"gate": 4})
        await member.look(50.0)
        member.now_s += 60
        looking = asyncio.create_task(member.look(51.0))
        await asyncio.sleep(0)
        assert not looking.done()
        member.leases.answers = [Holding({}, 2)]
        await member.sharing.renew()
        assert not await looking

    member = play(act)
    assert member.followed == [["gate"], []]
    assert member.last_claim == LeaseClaim(4, True)


def test_an_event_of_a_camera_that_is_not_held_has_no_valid_claim() -> None:
    async def act(member: Member) -> None:
        assert member.claim_at(0.0) == LeaseClaim(0, False)

    play(act)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_camera_that_could_not_be_followed_is_followed_at_the_next_round(
    fault: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    async def act(member: Member) -> None:
        member.faults = [fault] * 2
        for _ in range(4):
            await member.hold({"gate": 1}, quota=1)

    member = play(act)
    assert member.followed == [["gate"]]
    assert member.sharing.failures == 2
    assert caplog.text.count("cannot change") == 1


@pytest.mark.parametrize("fault", FAULTS)
def test_a_camera_that_could_not_be_dropped_is_dropped_at_the_next_round(fault: Exception) -> None:
    async def act(member: Member) -> None:
        await member.hold({"gate": 1, "yard": 1})
        member.faults = [fault]
        await member.hold({"yard": 1})
        assert not await member.look(50.0)
        await member.hold({"yard": 1})

    member = play(act)
    assert member.followed == [["gate", "yard"], ["yard"]]
    assert member.sharing.lost == 1


@pytest.mark.parametrize("fault", [AWAY, *(one.values[0] for one in FAULTS)])
def test_a_camera_that_could_not_be_given_back_is_given_back_later(fault: Exception) -> None:
    async def act(member: Member) -> None:
        await member.hold({"gate": 1, "yard": 1})
        member.leases.faults = [fault]
        await member.hold({"gate": 1, "yard": 1}, quota=1)
        member.now_s += 1
        await member.hold({"gate": 1, "yard": 1}, quota=1)

    member = play(act)
    assert member.leases.given_back == ["gate"]
    assert member.followed[-1] == ["yard"]


@pytest.mark.parametrize("fault", FAULTS)
def test_any_fault_of_a_renewal_is_told_and_the_next_round_asks_again(
    fault: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    async def act(member: Member) -> None:
        await member.answer(fault)
        await member.answer(fault)
        assert member.sharing.last_error == str(fault)
        await member.hold({"gate": 1})
        assert member.sharing.last_error == ""

    assert play(act).followed == [["gate"]]
    assert caplog.text.count("cannot be renewed") == 1


def test_a_watcher_that_cannot_give_its_cameras_back_ends_all_the_same(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def act(member: Member) -> None:
        member.leases.faults = [AWAY]

    assert not play(act).leases.has_left
    assert "not given back" in caplog.text


@pytest.mark.parametrize("behind_s", [-50.0, 0.0, 3600.0])
def test_a_step_of_a_cameras_clock_makes_no_pass_certain(behind_s: float) -> None:
    """The lease ends. A frame after that has a time before those that were permitted."""

    async def act(member: Member) -> None:
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

    play(act)


def test_other_watchers_with_cameras_to_give_back_are_asked_sooner() -> None:
    async def act(member: Member) -> None:
        await member.hold({"gate": 1})
        member.now_s += LEASE_S
        member.leases.answers = [Holding({"gate": 1}, 2)]
        assert await member.sharing.renew()
        member.leases.answers = [Holding({"gate": 1}, 1)]
        assert not await member.sharing.renew()

    play(act)


def test_a_call_that_hangs_is_given_up_and_the_next_waits_for_it() -> None:
    async def act() -> None:
        calls, goes_on = DatabaseCalls(), threading.Event()
        with pytest.raises(StoreUnavailable, match="not answered"):
            await calls.run(goes_on.wait, 0.01)
        with pytest.raises(StoreUnavailable, match="not answered"):
            await calls.run(lambda: 1, 0.01)
        goes_on.set()
        assert await calls.run(lambda: 2, 20) == 2

    asyncio.run(act())


def test_a_call_that_fails_late_harms_no_other() -> None:
    async def act() -> None:
        calls, goes_on = DatabaseCalls(), threading.Event()

        def fail() -> None:
            goes_on.wait()
            raise AWAY

        with pytest.raises(StoreUnavailable, match="not answered"):
            await calls.run(fail, 0.01)
        goes_on.set()
        assert await calls.run(lambda: 2, 20) == 2
        with pytest.raises(KeyError):
            await calls.run(lambda: {}["key"], 20)

    asyncio.run(act())
