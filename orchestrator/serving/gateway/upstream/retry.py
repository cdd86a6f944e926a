"""Retries calls whose worker died. Rejects a call that killed two workers."""

from __future__ import annotations

import asyncio
import itertools
import os
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable
from hashlib import blake2b
from typing import NamedTuple, TypeVar

import anyio

from orchestrator.contract import mark, mark_of
from orchestrator.errors import ServerError
from orchestrator.serving.gateway.errors import DeadlineExceeded, HarmfulRequest
from orchestrator.serving.gateway.upstream.backoff import SharedBackoff
from orchestrator.serving.protocol.inference import InferenceRequest, InferenceResponse

STRIKES = 2
"""Deaths of workers after which a call is rejected. The first may be due to another call."""
MAX_KEPT = 1000

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


class RetryPolicy:
    """Sends calls to Triton, with retries while Triton or a worker is briefly not available.

    Args:
        send: Sends a call. It raises `ServerError` if a retry may help.
        away_s: Longest time for retries of a call.
        clock: Returns the time in seconds.
        sleep: Waits for a number of seconds.

    Attributes:
        count: Number of retries of all calls.
    """

    def __init__(
        self,
        send: Send,
        away_s: float,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._send, self._away_s = send, away_s
        self._clock, self._backoff = clock, SharedBackoff(clock, sleep)
        self._numbers = itertools.count(1)
        self._blamed: OrderedDict[str, str] = OrderedDict()  # why a worker died, by a call's mark
        self._strikes: OrderedDict[Fingerprint, int] = OrderedDict()
        self._harmful: OrderedDict[Fingerprint, str] = OrderedDict()
        self._given_up: OrderedDict[str, Fingerprint] = OrderedDict()  # callers stopped waiting
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
            _store(self._blamed, call, reason)
            if call in self._given_up:
                self._strike(self._given_up.pop(call), reason)

    def end(self) -> None:
        """Stop all retries from now on."""
        self._is_ending = True
        self._backoff.release()

    async def infer(self, call: InferenceRequest, within_s: float) -> InferenceResponse:
        """Return Triton's answer to a call, with as many retries as needed.

        Args:
            call: The call. It may be sent again, because calls change nothing at Triton.
            within_s: Timeout for all tries together.

        Raises:
            HarmfulRequest: The call killed as many workers as `STRIKES`.
            PlateError: Triton refused the call, or stayed unavailable.
        """
        if self._harmful:
            self._check(call)
        begun, retries, is_suspect = self._clock(), 0, False
        deadline, retry_until = begun + within_s, begun + min(within_s, self._away_s)
        is_alone = False
        try:
            while True:
                id = call.id if call.is_probe else mark(call.id, self._number())
                try:
                    response = await self._send(call, id, deadline - self._clock())
                except (DeadlineExceeded, asyncio.CancelledError):
                    _store(self._given_up, mark_of(id), fingerprint_of(call))
                    raise
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
                    is_alone = True
                retries += 1
                self.count += 1
        finally:
            if is_alone:
                self._alone.release()

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
        reason = self._blamed.pop(mark_of(id), "")
        if reason and self._strike(fingerprint_of(call), reason):
            raise _harmful(reason)
        return bool(reason)

    def _number(self) -> str:
        """Return a number that no other try of any process has."""
        return f"{os.getpid():x}-{next(self._numbers):x}"

    def _strike(self, culprit: Fingerprint, reason: str) -> bool:
        """Count a worker that died with a call. Tell whether there were too many."""
        strikes = self._strikes.get(culprit, 0) + 1
        _store(self._strikes, culprit, strikes)
        if strikes >= STRIKES:
            _store(self._harmful, culprit, reason)
        return strikes >= STRIKES

    def _check(self, call: InferenceRequest) -> None:
        size = call.size
        has_such_size = any(one.size == size for one in self._harmful)  # a hash is rarely needed
        if has_such_size and (reason := self._harmful.get(fingerprint_of(call))):
            raise _harmful(reason)


def fingerprint_of(call: InferenceRequest) -> Fingerprint:
    """Return a call's fingerprint. It differs for other models, pictures and parameters."""
    digest = blake2b(repr((call.model, sorted(call.parameters.items()))).encode(), digest_size=16)
    for tensor in call.inputs:
        digest.update(repr((tensor.name, tensor.datatype, tensor.shape)).encode())
        for part in tensor.parts:
            digest.update(part)
    return Fingerprint(call.size, digest.digest())


def _harmful(reason: str) -> HarmfulRequest:
    return HarmfulRequest(
        f"the call ended {STRIKES} workers, one after the other (the last: {reason}); it is not "
        "tried again"
    )


def _store(kept: OrderedDict[KeyT, ValueT], key: KeyT, value: ValueT) -> None:
    """Store an entry. Drop the oldest entry if there are too many."""
    kept[key] = value
    if len(kept) > MAX_KEPT:
        kept.popitem(last=False)
