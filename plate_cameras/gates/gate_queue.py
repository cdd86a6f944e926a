"""Serves the vehicles of one gate in turn: waits, decides, opens the gate, and ends the pulse."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field, replace
from typing import Any

from plate_cameras.clocks import complete_within, is_set_within
from plate_cameras.gates.reasons import to_sentence
from plate_cameras.gates.relay import NotSwitchedError, OpeningRequest, Relay, describe
from plate_cameras.gates.status import GateStatus
from plate_cameras.gates.turns import GateSurroundings, Pulse, Turn
from plate_cameras.setting_parts import Gate
from plate_cameras.store.openings.gate_openings import (
    BEGUN,
    FAILED,
    OPENED,
    REFUSED,
    UNKNOWN,
    GateOpening,
)

LOG = logging.getLogger(__name__)
ATTEMPT_S, RETRY_S, PAUSE_S = 5.0, 3.0, 0.2
"""Longest wait for a relay, longest time of all attempts for a vehicle before the next vehicle gets
its turn, and the first pause between two attempts; the pauses double."""
OFF_S, OFF_AGAIN_S = 30.0, 5.0
"""Longest time for which a relay that does not end its pulse is tried before the next vehicle gets
its turn, and the pause between later attempts."""
CLOSE_S = 2.0
"""Longest wait for a relay's connections to close."""


@dataclass
class GateQueue:
    """Serves the vehicles of one gate in their order. Other gates do not wait for it.

    A vehicle waits only for its turn. The decision to open is made directly before each request to
    the relay.

    Attributes:
        around: The parts that all gates share.
    """

    gate: Gate
    relay: Relay
    around: GateSurroundings
    status: GateStatus = field(init=False)
    _requests: dict[str, OpeningRequest] = field(default_factory=dict)
    _pulse: Pulse | None = None
    _news: asyncio.Event = field(default_factory=asyncio.Event)
    _is_to_stop: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.status = GateStatus(self.gate.name)

    @property
    def requests(self) -> tuple[OpeningRequest, ...]:
        """The vehicles that wait for their turn or have it, in their order."""
        return tuple(self._requests.values())

    def has(self, pass_id: str) -> bool:
        """Tell whether a vehicle waits for its turn or has it."""
        return pass_id in self._requests

    def put(self, request: OpeningRequest) -> None:
        """Let a vehicle wait for its turn."""
        self._requests[request.key] = request
        self.status.waiting = len(self._requests)
        self._news.set()

    def refuse(self, request: OpeningRequest, reason: str, code: str = "") -> None:
        """Record that the gate does not open for a vehicle of its lists, once for each reason."""
        if self.around.is_news(request, code or reason):
            self._record(self.around.make_opening(request, REFUSED, reason))

    def refuse_all(self, code: str) -> None:
        """Refuse all vehicles that still wait."""
        for request in self.requests:
            self.refuse(request, to_sentence(code), code)

    def ask_to_stop(self) -> None:
        """Let `serve` end the running pulse, and return. Vehicles that wait stay in `requests`."""
        self._is_to_stop.set()
        self._news.set()

    async def close(self) -> None:
        """Close the relay."""
        try:
            await complete_within(self.relay.close(), CLOSE_S)
        except Exception:  # whatever it is, the gate is closed
            LOG.exception("gate %s: cannot close the relay", self.gate.name)

    async def serve(self) -> None:
        """Serve vehicles until the gate is stopped. It may be called again after a failure."""
        while True:
            if self._pulse:
                await self._end_pulse(self._pulse)
            if self._is_to_stop.is_set():
                return
            if self._requests:
                await self._serve_first()
            else:
                await self._wait_for_news()

    async def _wait_for_news(self) -> None:
        """Wait for a vehicle or the end; while the relay is still on, only for a short time."""
        if self._pulse:
            await is_set_within(self._news, OFF_AGAIN_S)
        else:
            await self._news.wait()
        self._news.clear()

    async def _serve_first(self) -> None:
        await self._wait_until_closed()
        if self._is_to_stop.is_set():
            return
        key, request = next(iter(self._requests.items()))
        is_done, turn = True, Turn(request)
        try:
            is_done = await self._begin(turn) and await self._open_for(turn)
            if turn.is_begun:
                await self.around.begun.withdraw(turn.id)
        finally:
            if is_done:
                self._requests.pop(key, None)
                self.status.waiting = len(self._requests)

    async def _wait_until_closed(self) -> None:
        """Wait while the gate is open for another vehicle. Each time of closing is awaited once."""
        awaited_s = self.around.clock()
        while (closes_s := self.around.hold_offs.open_until_s(self.gate)) > awaited_s:
            await self._pause(closes_s - self.around.clock())
            awaited_s = closes_s
            if self._is_to_stop.is_set():
                return

    async def _begin(self, turn: Turn) -> bool:
        """Note in the store that the relay is about to be asked. A person's command is there.

        Returns:
            False if other watchers have asked it meanwhile: the vehicle waits again.
        """
        turn.decision, turn.request = self.around.decide(self.gate, turn.request)
        if turn.request.command_id or not turn.decision.opens:
            return True
        opening = self.around.make_opening(turn.request, BEGUN, "", id=turn.id)
        turn.is_begun = await self.around.begun.begin(self.gate, opening)
        return turn.is_begun

    async def _open_for(self, turn: Turn) -> bool:
        """Ask the relay until it may have switched, or the vehicle may not come in any more.

        Returns:
            False if the gate was stopped before.
        """
        loop = asyncio.get_running_loop()
        ends_s, pause_s, failure = loop.time() + RETRY_S, PAUSE_S, ""
        while True:
            last_failure = await self._attempt(turn)
            if self._is_to_stop.is_set() and not turn.is_asked:
                return False
            if not turn.decision.opens:
                break
            if not last_failure:
                return True
            failure = last_failure
            if loop.time() + pause_s >= ends_s:
                break
            await self._pause(pause_s)
            if self._is_to_stop.is_set():
                return False
            pause_s *= 2
        if not failure:
            self.refuse(turn.request, turn.decision.sentence, turn.decision.code)
        elif self.around.is_news(turn.request, failure):
            self._settle(turn, FAILED, failure)
        return True

    async def _attempt(self, turn: Turn) -> str:
        """Decide, and ask the relay once. Return the failure if it has certainly not switched."""
        outcome, reason = UNKNOWN, to_sentence("interrupted")
        turn.is_asked = False
        try:
            await complete_within(self._decide_and_ask(turn), ATTEMPT_S)
            outcome, reason = OPENED, ""
        except NotSwitchedError as error:
            outcome, reason = FAILED, describe(error)
        except Exception as error:  # whatever it is, the relay may have switched
            if not turn.is_asked:
                raise
            outcome, reason = UNKNOWN, describe(error)
        finally:  # also when this task is cancelled
            if turn.is_asked:
                self._note(reason)
                if outcome != FAILED:
                    self._count(turn, outcome, reason)
        return reason if turn.is_asked and outcome == FAILED else ""

    async def _decide_and_ask(self, turn: Turn) -> None:
        """Ask the relay if the decision of this moment is to open. Nothing runs in between."""
        if self._is_to_stop.is_set():  # since the attempt began: the settings may have gone
            return
        turn.decision, turn.request = self.around.decide(self.gate, turn.request)
        if turn.decision.opens:
            turn.is_asked = True
            turn.at_s, turn.requested_s = self.around.clock(), self.around.unix_clock()
            await self.relay.switch_on(turn.request)

    def _count(self, turn: Turn, outcome: str, reason: str) -> None:
        """Count a request to the relay as an opening, and record it."""
        opening = self._settle(turn, outcome, reason, requested_s=turn.requested_s)
        self.around.hold_offs.add(opening, turn.at_s)
        if self.relay.needs_off:
            self._pulse = Pulse(turn.request, self.around.clock() + self.gate.pulse_s)

    def _settle(self, turn: Turn, outcome: str, reason: str, **changes: Any) -> GateOpening:
        """Record the outcome of a turn under the id of what has begun."""
        turn.is_begun = False
        opening = self.around.make_opening(turn.request, outcome, reason, id=turn.id, **changes)
        self._record(opening)
        return opening

    async def _end_pulse(self, pulse: Pulse) -> None:
        """Switch the relay off after the pulse, also without an answer: it may be on."""
        await self._pause(pulse.ends_s - self.around.clock())
        loop = asyncio.get_running_loop()
        ends_s, pause_s = loop.time() + (0.0 if pulse.was_told else OFF_S), PAUSE_S
        while failure := await self._switch_off():
            if self._is_to_stop.is_set():
                ends_s = min(ends_s, loop.time() + RETRY_S)
            if loop.time() + pause_s >= ends_s:
                break
            await asyncio.sleep(pause_s)
        else:
            self._pulse = None
            return
        if self._is_to_stop.is_set():
            self._pulse = None
        if not pulse.was_told:
            pulse.was_told, reason = True, to_sentence("still_on", failure=failure)
            self._note(reason)
            request = replace(pulse.request, command_id="")  # a record of its own
            self._record(self.around.make_opening(request, FAILED, reason))

    async def _switch_off(self) -> str:
        """Return the failure; empty if the relay has confirmed that it is off."""
        try:
            await complete_within(self.relay.switch_off(), ATTEMPT_S)
        except Exception as error:  # no error of a relay may end the gate
            return describe(error)
        return ""

    async def _pause(self, seconds: float) -> None:
        """Wait; shorter when the gate is stopped."""
        if seconds > 0:
            await is_set_within(self._is_to_stop, seconds)

    def _record(self, opening: GateOpening) -> None:
        self.status.count(opening)
        self.around.record(opening)

    def _note(self, failure: str) -> None:
        if failure and failure != self.status.failure:
            LOG.error("gate %s: %s", self.gate.name, failure)
        self.status.failure = failure
