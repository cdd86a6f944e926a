"""A watcher among others, with leases that follow a script."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import replace

from orchestrator.cameras.passes import LeaseClaim
from orchestrator.cameras.store.camera_leases import Holding
from orchestrator.cameras.store.errors import StoreUnavailable
from orchestrator.cameras.watching.leases import CameraSharing, Shared
from tests.cameras.samples import make_event, make_frame

LEASE_S = 6.0
AWAY = StoreUnavailable("away")


class ScriptedLeases:
    """Answers with given holdings or errors in turn; the last one is repeated."""

    lease_s = LEASE_S

    def __init__(self) -> None:
        self.answers: list[Holding | StoreUnavailable] = [Holding({}, 0)]
        self.took: list[bool] = []
        self.given_back: list[str] = []
        self.has_left = False

    def hold(
        self, watcher: str, cameras: Collection[str], *, most: int = 0, takes: bool = True
    ) -> Holding:
        del watcher, cameras, most
        self.took.append(takes)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, StoreUnavailable):
            raise answer
        return answer

    def give_back(self, watcher: str, cameras: Collection[str]) -> None:
        del watcher
        self.given_back += sorted(cameras)

    def leave(self, watcher: str) -> None:
        del watcher
        self.has_left = True


class Member:
    """A watcher whose clock stands still unless it is moved."""

    def __init__(self) -> None:
        self.leases = ScriptedLeases()
        self.now_s = 100.0
        self.followed: list[list[str]] = []
        self.last_claim: LeaseClaim | None = None
        self.open_passes: Mapping[str, int] = {}
        shared = Shared(lambda: ["gate", "yard"], self.follow, self.count_open)
        self.sharing = CameraSharing(self.leases, shared, watcher="me", clock=lambda: self.now_s)

    async def follow(self, names: Collection[str]) -> None:
        """Follow; the camera's last pass is closed here."""
        self.last_claim = self.claim_at(50.0)
        self.followed.append(sorted(names))

    def count_open(self, name: str) -> int:
        return self.open_passes.get(name, 0)

    async def hold(self, epochs: Mapping[str, int], quota: int = 2) -> None:
        """Renew once, with this answer, and adjust to it."""
        await self.answer(Holding(epochs, quota))

    async def answer(self, answer: Holding | StoreUnavailable) -> None:
        self.leases.answers = [answer]
        await self.sharing.renew()
        await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}))

    async def look(self, time_s: float) -> bool:
        return await self.sharing.permit(make_frame("gate", time_s=time_s))

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
