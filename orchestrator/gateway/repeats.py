"""Calls that are sent again because the worker that had them died, unless that was their fault."""

from __future__ import annotations

import asyncio
import itertools
import os
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AsyncExitStack
from dataclasses import replace
from hashlib import blake2b
from typing import NamedTuple, TypeVar

import anyio

from orchestrator import contract
from orchestrator.contract import mark_of
from orchestrator.errors import ServerError
from orchestrator.gateway.calls import Answer, Call
from orchestrator.gateway.pauses import Pauses, growing_s
from orchestrator.gateway.refusals import Harmful, Late

STRIKES = 2
"""Workers that a call may cost: at the first another call may have been to blame."""
MOST_KEPT = 1000

KeyT = TypeVar("KeyT")
ValueT = TypeVar("ValueT")
Send = Callable[[Call, float], Awaitable[Answer]]
"""Sends a call to Triton, which may take so many seconds."""


class Print(NamedTuple):
    """A call's fingerprint.

    Attributes:
        size: Of its tensors, bytes.
        digest: Of them and its parameters, BLAKE2b.
    """

    size: int
    digest: bytes


class Repeats:
    """Sends calls to a Triton that may be away for a moment, whole or in part.

    Args:
        send: Raises `ServerError` for a call that another try may bring through.
        away_s: How long a call is tried.
        clock: Seconds.
        sleep: Waits so many of them.

    Attributes:
        count: Calls that were sent again, each time.
    """

    def __init__(
        self,
        send: Send,
        away_s: float,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._send, self._away_s = send, away_s
        self._clock, self._pauses = clock, Pauses(clock, sleep)
        self._numbers = itertools.count(1)
        self._blamed: OrderedDict[str, str] = OrderedDict()  # how a worker ended, by the mark
        self._strikes: OrderedDict[Print, int] = OrderedDict()
        self._harmful: OrderedDict[Print, str] = OrderedDict()
        self._given_up: OrderedDict[str, Print] = OrderedDict()  # by callers who waited no longer
        self._alone = asyncio.Lock()
        self._is_ending = False
        self.count = 0

    def blame(self, calls: Iterable[str], how: str) -> None:
        """Note that a worker ended with these calls, which may be to blame.

        Args:
            calls: Ids as Triton got them.
            how: The worker ended.
        """
        for call in filter(None, map(mark_of, calls)):
            _keep(self._blamed, call, how)
            if call in self._given_up:
                self._strike(self._given_up.pop(call), how)

    def end(self) -> None:
        """Try nothing again from now on."""
        self._is_ending = True
        self._pauses.release()

    async def infer(self, call: Call, within_s: float) -> Answer:
        """Return Triton's answer to a call, however often it takes.

        Args:
            call: It may be sent again: calls change nothing there.
            within_s: How long it may take in all.

        Raises:
            Harmful: It ended as many workers as a call may.
            PlateError: Triton refused it, or stayed away.
        """
        self._check(call)
        begun, pauses = self._clock(), growing_s()
        is_again = is_suspect = False
        tried_until = begun + min(within_s, self._away_s)
        async with AsyncExitStack() as alone:
            while True:
                sent = call if call.is_probe else replace(call, id=self._mark(call.id))
                try:
                    answer = await self._try(sent, begun + within_s - self._clock())
                except ServerError:
                    is_blamed, pause_s = self._judge(sent), next(pauses)
                    if self._is_ending or self._clock() + pause_s > tried_until:
                        raise
                else:
                    if is_again:
                        self._pauses.release()
                    if is_suspect:
                        self._strikes.pop(print_of(call), None)
                    return replace(answer, id=call.id)
                await self._pauses.wait(pause_s, tried_until)
                if is_blamed and not is_suspect:
                    is_suspect = True
                    await self._enter_alone(alone, begun + within_s - self._clock())
                is_again = True
                self.count += 1

    async def _enter_alone(self, alone: AsyncExitStack, within_s: float) -> None:
        """Wait until no other suspect is being tried.

        Raises:
            Late: One takes longer than the call has.
        """
        try:
            with anyio.fail_after(within_s):
                await alone.enter_async_context(self._alone)
        except TimeoutError as error:
            raise Late("wanted an answer in time, got none: another call is tried alone") from error

    async def _try(self, sent: Call, within_s: float) -> Answer:
        try:
            return await self._send(sent, within_s)
        except (Late, asyncio.CancelledError):
            if mark := mark_of(sent.id):
                _keep(self._given_up, mark, print_of(sent))
            raise

    def _judge(self, sent: Call) -> bool:
        """Tell whether a call that failed is blamed for the end of a worker; refuse the culprit."""
        how = self._blamed.pop(mark_of(sent.id), "")
        if how and self._strike(print_of(sent), how):
            raise _harmful(how)
        return bool(how)

    def _mark(self, call_id: str) -> str:
        return contract.mark(call_id, f"{os.getpid():x}-{next(self._numbers):x}")

    def _strike(self, culprit: Print, how: str) -> bool:
        """Count a worker that ended with a call; tell whether there were too many."""
        strikes = self._strikes.get(culprit, 0) + 1
        _keep(self._strikes, culprit, strikes)
        if strikes >= STRIKES:
            _keep(self._harmful, culprit, how)
        return strikes >= STRIKES

    def _check(self, call: Call) -> None:
        size = _size_of(call)
        has_such_size = any(one.size == size for one in self._harmful)  # most need no digest
        if has_such_size and (how := self._harmful.get(print_of(call))):
            raise _harmful(how)


def print_of(call: Call) -> Print:
    """Return what tells a call from others with another picture or other parameters."""
    digest = blake2b(repr((call.model, sorted(call.parameters.items()))).encode(), digest_size=16)
    for tensor in call.inputs:
        digest.update(repr((tensor.name, tensor.datatype, tensor.shape)).encode())
        digest.update(tensor.data)
    return Print(_size_of(call), digest.digest())


def _size_of(call: Call) -> int:
    return sum(len(tensor.data) for tensor in call.inputs)


def _harmful(how: str) -> Harmful:
    return Harmful(
        f"the call ended {STRIKES} workers, one after the other (the last: {how}); it is not tried "
        "again"
    )


def _keep(kept: OrderedDict[KeyT, ValueT], key: KeyT, value: ValueT) -> None:
    """Note something, and forget the oldest where there is too much."""
    kept[key] = value
    kept.move_to_end(key)
    if len(kept) > MOST_KEPT:
        kept.popitem(last=False)
