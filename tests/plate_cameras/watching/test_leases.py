"""A watcher that takes, renews and loses leases."""

import asyncio
import os
import socket
from dataclasses import replace

import pytest

from orchestrator.errors import PlateError, SettingsError
from plate_cameras.passes import LeaseClaim
from plate_cameras.store.leases.camera_leases import Holding
from plate_cameras.watching.leases import CameraSharing, SharedCameras
from tests.plate_cameras.samples import make_frame
from tests.plate_cameras.watching.lease_members import AWAY, LEASE_S, Member, playing

FAULTS = [
    pytest.param(SettingsError("a camera cannot be opened"), id="settings"),
    pytest.param(OSError(24, "too many open files"), id="system"),
    pytest.param(KeyError("gate"), id="a-fault-of-ours"),
]


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


@pytest.mark.parametrize("fault", [AWAY, *(fault.values[0] for fault in FAULTS)])
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


async def test_a_watcher_asks_by_a_name_of_its_own_and_for_no_more_than_it_can_follow() -> None:
    member = Member(most=3)
    await member.hold({})
    assert member.leases.asked_by == {("me", 3)}
    cameras = SharedCameras(lambda: [], member.follow, member.count_open)
    names = {CameraSharing(member.leases, cameras).watcher for _ in range(20)}
    assert len(names) == 20
    assert {name.rpartition("-")[0] for name in names} == {f"{socket.gethostname()}-{os.getpid()}"}
