"""A watcher among others, whose leases follow a script and whose clock only the test moves."""

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace

from plate_cameras.passes import LeaseClaim
from plate_cameras.store.errors import StoreUnavailable
from plate_cameras.store.leases.camera_leases import Holding
from plate_cameras.watching.leases import CameraSharing, SharedCameras
from tests.plate_cameras.samples import make_event, make_frame

LEASE_S = 6.0
AWAY = StoreUnavailable("away")


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
        vehicle_pass = replace(event.vehicle_pass, last_seen_s=last_seen_s, last_moment_s=moment_s)
        return self.sharing.claim(replace(event, vehicle_pass=vehicle_pass)).claim

    def claim_at(self, last_seen_s: float) -> LeaseClaim | None:
        event = make_event(camera="gate")
        vehicle_pass = replace(event.vehicle_pass, last_seen_s=last_seen_s)
        return self.sharing.claim(replace(event, vehicle_pass=vehicle_pass)).claim


@asynccontextmanager
async def playing() -> AsyncIterator[Member]:
    """Yield a member, which leaves at the end."""
    member = Member()
    yield member
    await member.sharing.leave()
