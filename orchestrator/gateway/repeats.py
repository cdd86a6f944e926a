"""Calls that are sent again because the worker that had them died, unless that was their fault."""

from __future__ import annotations

import asyncio
import itertools
import os
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import AsyncExitStack
from dataclasses import replace
from hashlib import blake2b
from typing import TypeVar

from orchestrator.contract import mark
from orchestrator.errors import ServerError
from orchestrator.gateway.calls import Answer, Call
from orchestrator.gateway.refusals import Harmful

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.02, 0.2
STRIKES = 2
"""Workers that a call may cost: at the first another call may have been to blame."""
MOST_KEPT = 1000

KeyT = TypeVar("KeyT")
ValueT = TypeVar("ValueT")
Send = Callable[[Call, float], Awaitable[Answer]]
"""Sends a call to Triton, which may take so many seconds."""


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
        self._clock, self._sleep = clock, sleep
        self._numbers = itertools.count(1)
        self._blamed: OrderedDict[str, str] = OrderedDict()  # how a worker ended, by the call
        self._strikes: OrderedDict[bytes, int] = OrderedDict()
        self._harmful: OrderedDict[tuple[int, bytes], str] = OrderedDict()
        self._alone = asyncio.Lock()
        self._is_ending = False
        self.count = 0

    def blame(self, calls: Iterable[str], how: str) -> None:
        """Note that a worker ended with these calls, which may be to blame.

        Args:
            calls: Ids as Triton got them.
            how: The worker ended.
        """
        for call in calls:
            _keep(self._blamed, call, how)

    def end(self) -> None:
        """Try nothing again from now on."""
        self._is_ending = True

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
        begun, pauses = self._clock(), _pauses_s()
        async with AsyncExitStack() as alone:
            is_suspect = False
            while True:
                sent = call if call.is_probe else replace(call, id=self._mark(call.id))
                try:
                    answer = await self._send(sent, begun + within_s - self._clock())
                except ServerError:
                    how, pause_s = self._blamed.pop(sent.id, ""), next(pauses)
                    if how:
                        self._judge(call, how)
                    if self._gives_up(begun, min(within_s, self._away_s) - pause_s):
                        raise
                else:
                    if is_suspect:
                        self._strikes.pop(digest_of(call), None)
                    return replace(answer, id=call.id)
                await self._sleep(pause_s)
                if how and not is_suspect:
                    is_suspect = True
                    await alone.enter_async_context(self._alone)
                self.count += 1

    def _mark(self, call_id: str) -> str:
        return mark(call_id, f"{os.getpid():x}-{next(self._numbers):x}")

    def _gives_up(self, begun: float, within_s: float) -> bool:
        return self._is_ending or self._clock() - begun > within_s

    def _judge(self, call: Call, how: str) -> None:
        """Count a worker that ended with a call; refuse the call that ended too many."""
        digest = digest_of(call)
        strikes = self._strikes.get(digest, 0) + 1
        _keep(self._strikes, digest, strikes)
        if strikes >= STRIKES:
            _keep(self._harmful, (_size_of(call), digest), how)
            raise _harmful(how)

    def _check(self, call: Call) -> None:
        has_such_size = any(size == _size_of(call) for size, _ in self._harmful)
        if has_such_size and (how := self._harmful.get((_size_of(call), digest_of(call)))):
            raise _harmful(how)


def digest_of(call: Call) -> bytes:
    """Return what tells a call from others with another picture or other parameters."""
    digest = blake2b(repr((call.model, sorted(call.parameters.items()))).encode(), digest_size=16)
    for tensor in call.inputs:
        digest.update(repr((tensor.name, tensor.datatype, tensor.shape)).encode())
        digest.update(tensor.data)
    return digest.digest()


def _pauses_s() -> Iterator[float]:
    pause_s = FIRST_PAUSE_S
    while True:
        yield pause_s
        pause_s = min(2 * pause_s, LONGEST_PAUSE_S)


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
