"""Detects forks during gRPC calls. gRPC does not work in a process that was forked so."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from orchestrator.errors import RequestError


class ForkRecord:
    """A record of running gRPC calls, and of forks during such calls.

    gRPC prepares itself for a fork, except while a thread is inside gRPC. The fork then happens
    anyway, and gRPC calls in the child may hang or end the process (grpcio 1.85). A set's `add`
    and `discard` need no lock that another thread could hold at the fork.

    Attributes:
        is_broken: This process, or an ancestor of it, was forked during a call.
    """

    def __init__(self) -> None:
        self.is_broken = False
        self._calls: set[object] = set()

    @contextmanager
    def record_call(self) -> Iterator[None]:
        """Record a gRPC call while it runs. A thread with asyncio may have many."""
        call = object()
        self._calls.add(call)
        try:
            yield
        finally:
            self._calls.discard(call)

    def note_fork(self) -> None:
        """Note, in a new child process, whether the fork was during a call."""
        self.is_broken |= bool(self._calls)
        self._calls.clear()

    def check(self) -> None:
        """Refuse gRPC in a process where it could hang.

        Raises:
            RequestError: The process was forked during a call. A retry does not help.
        """
        if self.is_broken:
            raise RequestError(
                "this process was forked while a thread was calling over gRPC, which gRPC does not "
                "survive: fork while no call is under way, or call over HTTP"
            )


FORKS = ForkRecord()
os.register_at_fork(after_in_child=FORKS.note_fork)
