"""Calls in an admission with a fake clock, and the outcome of each."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from orchestrator.serving.gateway.options import Limits
from orchestrator.serving.gateway.policy.admission import Admission, Counts
from orchestrator.serving.gateway.policy.clients import USUAL, Client
from orchestrator.serving.gateway.policy.slots import Slot
from orchestrator.serving.protocol.inference import USUAL_COST, Cost
from tests.virtual_time import Clock

NOTHING = Counts(inside=0, waiting=0, in_work=0, delayed_rejections=0, bytes=0)
LONG_S = 600.0


@contextmanager
def enter(admitting: Admission, caller: Client, size: int) -> Iterator[Slot]:
    """Enter the admission with a body."""
    slot = Slot(caller)
    admitting.enter(slot)
    try:
        admitting.slots.reserve(slot, size)
        yield slot
    finally:
        admitting.slots.remove(slot)


class AdmissionStory:
    """Calls in an admission with one slot, and the outcome of each."""

    def __init__(self, **limits: float) -> None:
        limits = {"calls": 1, "waiting": 2, "wait_s": LONG_S, "memory_mb": 1, "body_mb": 1} | limits
        self.admission = Admission(Limits(**limits), Clock())  # type: ignore[arg-type]
        self.done = asyncio.Event()
        self.began: list[str] = []
        self.ended: list[str] = []

    async def start(
        self, name: str, priority: int = USUAL, size: int = 0, cost: Cost = USUAL_COST
    ) -> asyncio.Task[None]:
        """Start a call, and run it until it waits."""
        task = asyncio.create_task(self.call(client(name, priority=priority), size, cost))
        await settle()
        return task

    async def call(self, caller: Client, size: int, cost: Cost = USUAL_COST) -> None:
        with enter(self.admission, caller, size) as slot:
            async with self.admission.queue(slot, cost):
                self.began.append(caller.name)
                await self.done.wait()
        self.ended.append(caller.name)

    async def upload(self, caller: Client, size: int) -> None:
        """Announce a body and never send it."""
        with enter(self.admission, caller, size) as slot, self.admission.receive(slot):
            await asyncio.Event().wait()

    async def finish(self, *tasks: asyncio.Task[None]) -> list[Any]:
        """Finish all calls; return the error of each."""
        self.done.set()
        return await asyncio.gather(*tasks, return_exceptions=True)


async def upload(story: AdmissionStory, name: str, priority: int, size: int) -> asyncio.Task[None]:
    """Start an upload, and run it until it waits."""
    task = asyncio.create_task(story.upload(client(name, priority=priority), size))
    await settle()
    return task


def client(
    name: str = "a", calls: int = 100, rate: float = 1000.0, priority: int = USUAL
) -> Client:
    return Client(name, calls, rate, priority)


def admission(clock: Callable[[], float] | None = None, **limits: int) -> Admission:
    return Admission(Limits(**({"calls": 1, "body_mb": 1} | limits)), clock or Clock())  # type: ignore[arg-type]


def enter_often(admitting: Admission, caller: Client, times: int) -> None:
    for _ in range(times):
        with enter(admitting, caller, 0):
            pass


async def settle(steps: int = 10) -> None:
    """Run all tasks until each waits, or for a number of steps."""
    for _ in range(steps):
        await asyncio.sleep(0)
