"""Periodic checks whether the relay of a gate can be reached, in virtual time."""

import asyncio

import pytest

from plate_cameras.gates.relay import PREPARE_EVERY_S, PREPARE_S, watch_relay
from plate_cameras.gates.status import GateStatus
from tests.plate_cameras.gates.known_vehicles import ScriptedRelay
from tests.virtual_time import run_virtually


class Broken(ScriptedRelay):
    """A relay whose checks follow a script."""

    async def prepare(self) -> None:
        await self._follow()


def watch(relay: ScriptedRelay, *waits_s: float) -> list[str]:
    """Watch a relay; return the gate's status after each wait."""

    async def main() -> list[str]:
        status, errors = GateStatus("north"), []
        watching = asyncio.create_task(watch_relay(relay, status))
        for wait_s in waits_s:
            await asyncio.sleep(wait_s)
            errors.append(status.error)
        watching.cancel()
        return errors

    return run_virtually(main())


def test_a_relay_that_does_not_answer_the_check_is_told() -> None:
    errors = watch(Broken(["away", None]), 1, PREPARE_EVERY_S + PREPARE_S, PREPARE_EVERY_S)
    assert errors == ["away", "the relay does not answer", ""]


def test_a_relay_that_stays_away_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    errors = watch(Broken(["away", "away", "elsewhere"]), 1, *[PREPARE_EVERY_S] * 3)
    assert errors == ["away", "away", "elsewhere", ""]
    messages = [record.message for record in caplog.records]
    assert messages == ["gate north: away", "gate north: elsewhere"]
