"""Whether gRPC works in this process: not where it was forked in the midst of a call."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from orchestrator.errors import RequestError


class Forks:
    """Remembers which gRPC calls are under way, and what a fork cut through.

    gRPC prepares itself for a fork, except while a thread is in it: then it lets the fork happen,
    and its calls in the child may hang or end the process (grpcio 1.85). A set's `add` and
    `discard` need no lock, which a fork could catch held.

    Attributes:
        is_torn: Whether this process, or one it descends from, was forked during a call.
    """

    def __init__(self) -> None:
        self.is_torn = False
        self._calling: set[object] = set()

    @contextmanager
    def calling(self) -> Iterator[None]:
        """Say that a gRPC call is under way; a thread of asyncio may have many."""
        call = object()
        self._calling.add(call)
        try:
            yield
        finally:
            self._calling.discard(call)

    def look_back(self) -> None:
        """Find out, in a new child, how the fork went."""
        self.is_torn |= bool(self._calling)
        self._calling.clear()

    def check(self) -> None:
        """Refuse gRPC where it would hang.

        Raises:
            RequestError: It would; sending again does not help.
        """
        if self.is_torn:
            raise RequestError(
                "this process was forked while a thread was calling over gRPC, which gRPC does not "
                "survive: fork while no call is under way, or call over HTTP"
            )


FORKS = Forks()
os.register_at_fork(after_in_child=FORKS.look_back)
