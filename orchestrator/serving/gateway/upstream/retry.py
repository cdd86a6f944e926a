"""Retries calls whose worker died. Rejects a call that killed two workers."""

from __future__ import annotations

import asyncio
import itertools
import math
import os
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable
from contextlib import ExitStack
from hashlib import blake2b
from typing import NamedTuple, TypeVar

import anyio

from orchestrator.contract import PROBE, mark_of
from orchestrator.errors import ServerError
from orchestrator.host.retry import exponential_s
from orchestrator.serving.gateway.errors import DeadlineExceeded, HarmfulRequest
from orchestrator.serving.protocol.inference import InferenceRequest, InferenceResponse

STRIKES = 2
"""Deaths of workers after which a call is rejected. The first may be due to another call."""
MAX_ENTRIES = 1000
FIRST_S, MAX_DURATION_S = 0.02, 0.2
"""Pauses of one call between its retries: the first one, and the limit of the growing ones."""

KeyT = TypeVar("KeyT")
ValueT = TypeVar("ValueT")
Send = Callable[[InferenceRequest, str, float], Awaitable[InferenceResponse]]
"""Sends a call to Triton under an id of its own, with a timeout in seconds."""


class Fingerprint(NamedTuple):
    """A call's fingerprint.

    Attributes:
        size: Size of its tensors, bytes.
        digest: BLAKE2b hash of its model, tensors and parameters.
    """

    size: int
    digest: bytes


class SharedBackoff:
    """Spaces the retries of calls that fail at the same time.

    Each retry takes CPU time from the server that is starting. So many calls together are retried
    no more often than a single call, one after another. Once one of them is answered, all retry.

    Args:
        clock: Returns the time in seconds.
        sleep: Waits for a number of seconds.
    """

    def __init__(
        self, clock: Callable[[], float], sleep: Callable[[float], Awaitable[object]]
    ) -> None:
        self._clock, self._sleep = clock, sleep
        self._last_retry = 0.0  # latest time at which a call may be retried
        self._releases = 0

    def release(self) -> None:
        """Let all waiting calls retry within `MAX_DURATION_S`."""
        self._releases += 1
        self._last_retry = self._clock()

    def pause_s(self, retry: int) -> float:
        """Return the pause between a retry of a call and the previous one."""
        return exponential_s(retry, FIRST_S, MAX_DURATION_S)

    async def wait(self, retry: int, until: float) -> None:
        """Wait until a call may be retried.

        Args:
            retry: Number of earlier retries of the call.
            until: Deadline on the clock. The wait ends then at the latest.
        """
        pause_s = self.pause_s(retry)
        releases = self._releases
        retry_at = self._last_retry = max(self._last_retry, self._clock()) + pause_s
        while releases == self._releases and (rest_s := min(retry_at, until) - self._clock()) > 0:
            await self._sleep(min(rest_s, pause_s))


class RetryPolicy:
    """Sends calls to Triton, with retries while Triton or a worker is briefly not available.

    Args:
        send: Sends a call. It raises `ServerError` if a retry may help.
        away_s: Longest time for retries of a call.
        call_s: Timeout for all tries of a call together; its own may be shorter.
        clock: Returns the time in seconds.
        sleep: Waits for a number of seconds.

    Attributes:
        count: Number of retries of all calls.
    """

    def __init__(
        self,
        send: Send,
        away_s: float,
        call_s: float = math.inf,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._send, self._away_s, self._call_s = send, away_s, call_s
        self._clock, self._backoff = clock, SharedBackoff(clock, sleep)
        self._numbers = itertools.count(1)
        self._blame_reasons: OrderedDict[str, str] = OrderedDict()  # of workers' deaths, by mark
        self._strikes: OrderedDict[Fingerprint, int] = OrderedDict()
        self._harmful: OrderedDict[Fingerprint, str] = OrderedDict()
        self._abandoned_calls: OrderedDict[str, Fingerprint] = OrderedDict()  # by mark
        self._alone = asyncio.Lock()
        self._is_ending = False
        self.count = 0

    def blame(self, calls: Iterable[str], reason: str) -> None:
        """Note that a worker died while it had these calls. One of them may be the cause.

        Args:
            calls: Ids of the calls, as Triton got them.
            reason: Cause of the worker's death: a signal, an exit status, or a hang.
        """
        for call in filter(None, map(mark_of, calls)):
            _store(self._blame_reasons, call, reason)
            if call in self._abandoned_calls:
                self._strike(self._abandoned_calls.pop(call), reason)

    def end(self) -> None:
        """Stop all retries from now on."""
        self._is_ending = True
        self._backoff.release()

    async def infer(self, call: InferenceRequest) -> InferenceResponse:
        """Return Triton's answer to a call, with as many retries as needed.

        Args:
            call: The checked call. It may be sent again, because calls change nothing at Triton.

        Raises:
            HarmfulRequest: The call killed as many workers as `STRIKES`.
            PlateError: Triton refused the call, or stayed unavailable.
        """
        if self._harmful:
            self._check(call)
        start_s, retries, is_suspect = self._clock(), 0, False
        within_s = min(self._call_s, call.timeout_s)
        deadline, retry_until = start_s + within_s, start_s + min(within_s, self._away_s)
        with ExitStack() as stack:
            while True:
                id = self._new_id(call.id)
                try:
                    response = await self._try(call, id, deadline, within_s)
                except ServerError:
                    is_blamed = self._take_blame(call, id)
                    retry_at = self._clock() + self._backoff.pause_s(retries)
                    if self._is_ending or retry_at > retry_until:
                        raise
                else:
                    if retries:
                        self._backoff.release()
                    if is_suspect:
                        self._strikes.pop(fingerprint_of(call), None)
                    return response
                await self._backoff.wait(retries, retry_until)
                if is_blamed and not is_suspect:
                    is_suspect = True
                    await self._enter_alone(deadline - self._clock())
                    stack.callback(self._alone.release)
                retries += 1
                self.count += 1

    async def _try(
        self, call: InferenceRequest, id: str, deadline: float, within_s: float
    ) -> InferenceResponse:
        """Send a call once. Remember it if its caller stops waiting: it may still kill a worker."""
        try:
            return await self._send(call, id, deadline - self._clock())
        except DeadlineExceeded as error:
            self._abandon(call, id)
            raise DeadlineExceeded.after(within_s) from error  # the error has the last try's time
        except asyncio.CancelledError:
            self._abandon(call, id)
            raise

    def _abandon(self, call: InferenceRequest, id: str) -> None:
        _store(self._abandoned_calls, mark_of(id), fingerprint_of(call))

    async def _enter_alone(self, within_s: float) -> None:
        """Wait until no other suspected call is being retried.

        Raises:
            DeadlineExceeded: Another suspected call takes longer than this call's timeout.
        """
        try:
            with anyio.fail_after(within_s):
                await self._alone.acquire()
        except TimeoutError as error:
            raise DeadlineExceeded(
                "wanted an answer in time, got none: another call is tried alone"
            ) from error

    def _take_blame(self, call: InferenceRequest, id: str) -> bool:
        """Tell whether a failed call may have killed a worker. Reject it after `STRIKES` deaths."""
        reason = self._blame_reasons.pop(mark_of(id), "")
        if reason and self._strike(fingerprint_of(call), reason):
            raise _make_rejection(reason)
        return bool(reason)

    def _new_id(self, id: str) -> str:
        """Return a call's id with a `MARK` that no other try of any process has."""
        return id if id == PROBE else f"{id}#{os.getpid():x}-{next(self._numbers):x}"

    def _strike(self, culprit: Fingerprint, reason: str) -> bool:
        """Count a worker that died with a call. Tell whether there were too many."""
        strikes = self._strikes.get(culprit, 0) + 1
        _store(self._strikes, culprit, strikes)
        if strikes >= STRIKES:
            _store(self._harmful, culprit, reason)
        return strikes >= STRIKES

    def _check(self, call: InferenceRequest) -> None:
        sizes = {fingerprint.size for fingerprint in self._harmful}  # a hash is rarely needed
        if call.size in sizes and (reason := self._harmful.get(fingerprint_of(call))):
            raise _make_rejection(reason)


def fingerprint_of(call: InferenceRequest) -> Fingerprint:
    """Return a call's fingerprint. It differs for other models, pictures and parameters."""
    digest = blake2b(repr((call.model, sorted(call.parameters.items()))).encode(), digest_size=16)
    for tensor in call.inputs:
        digest.update(repr((tensor.name, tensor.datatype, tensor.shape)).encode())
        for part in tensor.parts:
            digest.update(part)
    return Fingerprint(call.size, digest.digest())


def _make_rejection(reason: str) -> HarmfulRequest:
    return HarmfulRequest(
        f"the call ended {STRIKES} workers, one after the other (the last: {reason}); it is not "
        "tried again"
    )


def _store(entries: OrderedDict[KeyT, ValueT], key: KeyT, value: ValueT) -> None:
    """Store an entry. Drop the oldest entry if there are too many."""
    entries[key] = value
    if len(entries) > MAX_ENTRIES:
        entries.popitem(last=False)
