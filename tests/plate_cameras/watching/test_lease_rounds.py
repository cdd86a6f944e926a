"""The calls to the database, the rounds of a watcher with leases, and its changes of cameras."""

import asyncio
import gc
import threading
from collections.abc import Callable, Collection
from itertools import pairwise
from typing import Any

import pytest

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
from tests.plate_cameras.samples import make_frame
from tests.plate_cameras.watching.lease_members import Member, ScriptedLeases, playing
from tests.virtual_time import virtually


async def test_a_call_that_hangs_is_given_up_and_harms_no_later_one(
    caplog: pytest.LogCaptureFixture,
) -> None:
    gc.collect()  # what other tests have left
    caplog.clear()
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
