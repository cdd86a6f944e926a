"""The requests of a soak run in their order: good pictures in all ways, and one bad call in ten.

The calls of a run are numbered, and the number decides which request is sent. So all runs of
the same length send the same requests, and every part of a run sends the same mixture.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from workshop.benchmarks.load.connections import ANSWERED, DROPPED, Reply
from workshop.benchmarks.load.requests import Request
from workshop.benchmarks.load.responses import UNREADABLE, read_texts

EVERY = 10
"""One of this many calls is bad."""


@dataclass(frozen=True)
class CheckedRequest:
    """A request, and the reply that it must get.

    Attributes:
        name: The name in messages.
        texts: The texts that the picture gets when it is sent alone.
        status: The status of the reply.
        words: Words that the error must contain.
        hang_up_s: Seconds after which the caller hangs up; it does not hang up when 0.
    """

    name: str
    request: Request
    texts: tuple[str, ...] = ()
    status: str = ANSWERED
    words: str = ""
    hang_up_s: float = 0.0

    @property
    def is_good(self) -> bool:
        return self.status == ANSWERED

    @property
    def is_dropped(self) -> bool:
        return self.status == DROPPED

    def find_error(self, reply: Reply) -> str:
        """Describe how a reply differs from the right one; empty when it does not."""
        if reply.status != self.status or self.words not in reply.error:
            got = f"{reply.status} {reply.error[:200]}".strip()
            return f"{self.name}: wanted {self.status} {self.words}".rstrip() + f", got {got}"
        try:
            texts = read_texts(self.request, reply) if self.is_good else ()
        except UNREADABLE as error:
            return f"{self.name}: wanted an answer, got {error!r}"
        wanted, got = (", ".join(some) or "no plate" for some in (self.texts, texts))
        return "" if texts == self.texts else f"{self.name}: wanted {wanted}, got {got}"


@dataclass(frozen=True)
class RequestMix:
    """The requests of a run, good and bad ones, in the order in which they are sent."""

    good: Sequence[CheckedRequest]
    bad: Sequence[CheckedRequest]

    def find(self, number: int) -> CheckedRequest:
        """Return the request of the call with this number, counted from 0."""
        turn, place = divmod(number, EVERY)
        if place == EVERY - 1:
            return self.bad[turn % len(self.bad)]
        return self.good[(number - turn) % len(self.good)]


def shuffle(good: Sequence[CheckedRequest], bad: Sequence[CheckedRequest]) -> RequestMix:
    """Shuffle both lists, in the same way each time, so that small and large pictures mix."""
    order = random.Random(0)
    return RequestMix(order.sample(good, len(good)), order.sample(bad, len(bad)))
