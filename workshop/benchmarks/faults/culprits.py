"""Calls that cause a fault. They are not part of the load, and are counted separately."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

from workshop.benchmarks.faults.wires import ANSWERED, HttpCaller, Reply, Request, digest_kserve

TIMEOUT_S = 15.0


@dataclass(frozen=True)
class Tried:
    """The result of one such call."""

    reply: Reply
    seconds: float

    def __str__(self) -> str:
        told = f": {self.reply.told}" if self.reply.told else ""
        return f"{self.reply.status} after {self.seconds:.1f} s{told}"

    @property
    def is_refused(self) -> bool:
        return self.reply.status[:1] in ("4", "5")


def ask(address: str, request: Request, timeout_s: float = TIMEOUT_S) -> Tried:
    """Send a call once, over a new connection."""
    with closing(HttpCaller(address, [request], digest_kserve, timeout_s)) as caller:
        began = time.monotonic()
        reply = caller.send(0)
        return Tried(reply, time.monotonic() - began)


def tell(tried: Sequence[Tried], what: str) -> tuple[str, ...]:
    """Describe the results of such calls: how many were answered, and the first failure."""
    others = [one for one in tried if one.reply.status != ANSWERED]
    counts = f"{len(tried)} {what}: {len(tried) - len(others)} answered, {len(others)} not"
    return (counts, *(f"the first of them: {one}" for one in others[:1]))


def find_blamed(tried: Sequence[Tried]) -> tuple[str, ...]:
    """Say how many good pictures were rejected as bad."""
    blamed = [one for one in tried if one.reply.status.startswith("4")]
    return (f"{len(blamed)} good pictures were called bad",) if blamed else ()
