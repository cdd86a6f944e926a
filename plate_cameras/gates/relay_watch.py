"""Asks a relay now and then whether it is there: a car shall not be the first to see."""

from __future__ import annotations

import asyncio
import logging

from plate_cameras.deadlines import complete_within
from plate_cameras.gates.relay import Relay, describe
from plate_cameras.gates.status import GateStatus

LOG = logging.getLogger(__name__)
PREPARE_EVERY_S, PREPARE_S = 15.0, 30.0
"""How often a relay is asked whether it is there, and the longest wait for it. The first connection
to an ONVIF device reads its description, which takes seconds on a slow machine."""


async def watch_relay(relay: Relay, status: GateStatus) -> None:
    """Note in a gate's status whether its relay is there, until this task is cancelled."""
    while True:
        try:
            await complete_within(relay.prepare(), PREPARE_S)
            status.absence = ""
        except Exception as error:  # whatever it is, the relay is not there
            absence = describe(error)
            if absence != status.absence:
                LOG.error("gate %s: %s", status.name, absence)
            status.absence = absence
        await asyncio.sleep(PREPARE_EVERY_S)
