"""The vehicles of one gate, one after the other: waits, opens, and ends the pulse."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field

from orchestrator.cameras.gate_settings import Gate
from orchestrator.cameras.gates.hold_offs import HoldOffs
from orchestrator.cameras.gates.reasons import to_sentence
from orchestrator.cameras.gates.relay import OpeningRequest, Relay, RelayError
from orchestrator.cameras.gates.status import GateStatus
from orchestrator.cameras.store.gate_openings import FAILED, OPENED, REFUSED, GateOpening
from orchestrator.system.events import is_set_within

LOG = logging.getLogger(__name__)
ATTEMPT_S, RETRY_S, PAUSE_S = 1.5, 3.0, 0.2
"""Longest attempt, longest time of all attempts (a car waits), and the pause between two."""
OFF_S = 30.0
"""Longest time for which a relay is tried again that does not end its pulse."""
PREPARE_EVERY_S, PREPARE_S = 15.0, 30.0
"""How often a relay is asked whether it is there, and the longest wait for it. The first connection
to an ONVIF device reads its description, which takes seconds on a slow machine."""


@dataclass
class GateSurroundings:
    """The parts that the queues of all gates share.

    Attributes:
        hold_offs: The last openings.
        is_present: Tells whether the vehicle of a request is still in front of the camera, and its
            plate is still read so.
        record: Takes what the gate did.
        clock: Returns the Unix time.
    """

    hold_offs: HoldOffs
    is_present: Callable[[OpeningRequest], bool]
    record: Callable[[GateOpening], None]
    clock: Callable[[], float] = time.time


@dataclass
class GateQueue:
    """Serves the vehicles of one gate in their order. Other gates do not wait for it.

    Attributes:
        gate: Its settings.
        relay: Its relay.
        around: The parts that all gates share.
        status: The state of the gate.
    """

    gate: Gate
    relay: Relay
    around: GateSurroundings
    status: GateStatus = field(init=False)
    _waiting: asyncio.Queue[OpeningRequest | None] = field(default_factory=asyncio.Queue)
    _stopping: asyncio.Event = field(default_factory=asyncio.Event)
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.status = GateStatus(self.gate.name)

    def start(self) -> None:
        """Serve vehicles, and keep the relay connected."""
        self._tasks = [asyncio.create_task(self._serve()), asyncio.create_task(self._watch())]

    def put(self, request: OpeningRequest) -> None:
        """Queue a vehicle."""
        self._waiting.put_nowait(request)
        self.status.waiting = self._waiting.qsize()

    def refuse(self, request: OpeningRequest, reason: str) -> None:
        """Record that the gate does not open for a vehicle of its lists."""
        self._record(request, REFUSED, reason)

    async def stop(self) -> None:
        """End the pulse that runs, and stop. Vehicles that still wait are refused."""
        self._stopping.set()
        self._waiting.put_nowait(None)
        if self._tasks:
            serving, watching = self._tasks
            watching.cancel()
            await serving
            with suppress(asyncio.CancelledError):
                await watching
        await self.relay.close()

    async def _serve(self) -> None:
        while (request := await self._waiting.get()) is not None:
            self.status.waiting = self._waiting.qsize()
            try:
                await self._serve_one(request)
            except Exception:  # one vehicle must not end the gate
                LOG.exception("gate %s: vehicle %s", self.gate.name, request.text)

    async def _watch(self) -> None:
        """Ask the relay now and then whether it is there: a car shall not be the first to see.

        `wait_for` may lose a cancellation before Python 3.12, so the loop looks for the end itself.
        """
        while not self._stopping.is_set():
            try:
                await asyncio.wait_for(self.relay.prepare(), PREPARE_S)
                self.status.absence = ""
            except Exception as error:
                absence = _describe(error)
                if absence != self.status.absence:
                    LOG.error("gate %s: %s", self.gate.name, absence)
                self.status.absence = absence
            await self._pause(PREPARE_EVERY_S)

    async def _serve_one(self, request: OpeningRequest) -> None:
        reason = self._refusal(request)
        if not reason and await self._wait_until_closed(request):
            reason = self._refusal(request) or self._absence(request)
        if reason:
            self.refuse(request, reason)
            return
        requested_s = self.around.clock()
        if failure := await self._retry(lambda: self.relay.switch_on(request), RETRY_S):
            self._note(failure)
            self._record(request, FAILED, failure, requested_s)
        else:
            self.status.failure = ""
            opening = self._record(request, OPENED, "", requested_s)
            self.around.hold_offs.add([opening])
        await self._end_pulse(request)

    def _refusal(self, request: OpeningRequest) -> str:
        """Return why the gate does not open now; empty if it does."""
        if self._stopping.is_set():
            return to_sentence("ended")
        gate, texts = self.gate, (request.text, request.entry_text)
        ago_s = self.around.hold_offs.opened_ago_s(gate, texts, self.around.clock())
        if ago_s is None or not request.pass_id:
            return ""
        hold_off_s = f"{gate.hold_off_s:g}"
        return to_sentence("hold_off", ago_s=f"{ago_s:.0f}", hold_off_s=hold_off_s)

    def _absence(self, request: OpeningRequest) -> str:
        if not request.pass_id or self.around.is_present(request):
            return ""
        return to_sentence("left")

    async def _wait_until_closed(self, request: OpeningRequest) -> bool:
        """Wait while the gate is open for another vehicle. Return whether that was so."""
        open_s = self.around.hold_offs.open_until_s(self.gate) - self.around.clock()
        if open_s > 0:
            await self._pause(open_s)
        return open_s > 0

    async def _end_pulse(self, request: OpeningRequest) -> None:
        """Switch the relay off after the pulse, also after a failure: it may be on all the same."""
        if not self.relay.needs_off:
            return
        await self._pause(self.gate.pulse_s)
        if failure := await self._retry(self.relay.switch_off, OFF_S):
            reason = to_sentence("still_on", failure=failure)
            self._note(reason)
            self._record(request, FAILED, reason)

    async def _retry(
        self, switch: Callable[[], Coroutine[None, None, None]], longest_s: float
    ) -> str:
        """Call the relay until it answers. Return the failure if it does not in time."""
        ends = time.monotonic() + longest_s
        while True:
            left_s = ends - time.monotonic()
            try:
                await asyncio.wait_for(switch(), min(ATTEMPT_S, left_s))
                return ""
            except Exception as error:  # no error of a relay may end the gate
                failure = _describe(error)
            longest_left_s = RETRY_S if self._stopping.is_set() else longest_s
            ends = min(ends, time.monotonic() + longest_left_s)
            if time.monotonic() + PAUSE_S >= ends:
                return failure
            await asyncio.sleep(PAUSE_S)

    async def _pause(self, seconds: float) -> None:
        """Wait; shorter when the gate is stopped."""
        await is_set_within(self._stopping, seconds)

    def _record(
        self, request: OpeningRequest, outcome: str, reason: str, requested_s: float | None = None
    ) -> GateOpening:
        now_s = self.around.clock()
        is_measured = outcome == OPENED and request.readable_s is not None
        opening = GateOpening(
            gate=self.gate.name,
            camera=request.camera,
            pass_id=request.pass_id,
            text=request.text,
            list=request.list,
            entry_text=request.entry_text,
            outcome=outcome,
            reason=reason or request.note,
            requested_s=now_s if requested_s is None else requested_s,
            delay_s=now_s - (request.readable_s or 0.0) if is_measured else None,
        )
        self.status.count(opening)
        self.around.record(opening)
        return opening

    def _note(self, failure: str) -> None:
        LOG.error("gate %s: %s", self.gate.name, failure)
        self.status.failure = failure


def _describe(error: Exception) -> str:
    """Return a failure as a sentence; of a foreign error only its kind, which has no secret."""
    if isinstance(error, asyncio.TimeoutError):
        return to_sentence("silent")
    return str(error) if isinstance(error, RelayError) else type(error).__name__
