"""Notes openings in the store before relays are asked, so that no relay is asked twice.

Several watchers may have the same gate. One may be killed while a relay has its request, or frozen
while a vehicle waits.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from plate_cameras.clocks import steady_s
from plate_cameras.gates.known_lists import HoldOffs
from plate_cameras.setting_parts import Gate
from plate_cameras.store.openings.gate_openings import AgedOpening, GateOpening
from plate_cameras.store.openings.opening_log import OpeningLog

LOG = logging.getLogger(__name__)
STORE_S = 0.5
"""Longest time that a gate waits for the store. Without an answer it opens all the same."""
MAX_CALLS = 8
"""Calls to which the store may owe an answer. Then no gate waits for it."""

Result = TypeVar("Result")


class BegunOpenings:
    """The openings of this process that have no outcome yet.

    Args:
        log: The store of openings. Its calls run in a thread.
        hold_offs: Gets the openings of other watchers that the gate did not know.
        clock: The clock of the hold-offs.
    """

    def __init__(
        self, log: OpeningLog, hold_offs: HoldOffs, clock: Callable[[], float] = steady_s
    ) -> None:
        self._log, self._hold_offs, self._clock = log, hold_offs, clock
        self._calls = set[asyncio.Future[Any]]()

    async def begin(self, gate: Gate, opening: GateOpening) -> bool:
        """Note that a relay is about to be asked.

        Returns:
            False if other watchers have asked it meanwhile. Their openings are known now.
        """
        self._hold_offs.begin(opening.id)
        within_s = max(gate.hold_off_s, gate.open_s, gate.pulse_s)
        is_known = self._hold_offs.is_known
        nothing: Sequence[AgedOpening] = ()
        others = await self._call(lambda: self._log.begin(opening, within_s, is_known), nothing)
        now_s = self._clock()
        for other, age_s in others:
            self._hold_offs.add(other, now_s - age_s)
        return not others

    async def withdraw(self, id_: str) -> None:
        """Forget an opening that has begun: the relay has certainly not switched."""
        await self._call(lambda: self._log.withdraw(id_), None)

    async def _call(self, step: Callable[[], Result], otherwise: Result) -> Result:
        """Return what a call of the store returns, if it does so soon."""
        if len(self._calls) >= MAX_CALLS:
            return otherwise
        call = asyncio.ensure_future(asyncio.to_thread(step))
        self._calls.add(call)
        call.add_done_callback(self._note_end)
        if not (await asyncio.wait({call}, timeout=STORE_S))[0]:
            LOG.warning("a gate does not wait for the store: no answer within %g s", STORE_S)
            return otherwise
        return otherwise if call.exception() else call.result()

    def _note_end(self, call: asyncio.Future[Any]) -> None:
        self._calls.discard(call)
        if not call.cancelled() and (error := call.exception()):
            LOG.warning("a gate does not wait for the store: %s", error)
