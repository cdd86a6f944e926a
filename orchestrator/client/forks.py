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
        is_torn: This process, or an ancestor of it, was forked during a call.
    """

    def __init__(self) -> None:
        self.is_torn = False
        self._calling: set[object] = set()

    @contextmanager
    def calling(self) -> Iterator[None]:
        """Record a gRPC call while it runs. A thread with asyncio may have many."""
        call = object()
        self._calling.add(call)
        try:
            yield
        finally:
            self._calling.discard(call)

    def look_back(self) -> None:
        """Check, in a new child process, whether the fork was during a call."""
        self.is_torn |= bool(self._calling)
        self._calling.clear()

    def check(self) -> None:
        """Refuse gRPC in a process where it could hang.

        Raises:
            RequestError: The process was forked during a call. A retry does not help.
        """
        if self.is_torn:
            raise RequestError(
                "this process was forked while a thread was calling over gRPC, which gRPC does not "
                "survive: fork while no call is under way, or call over HTTP"
            )


FORKS = ForkRecord()
os.register_at_fork(after_in_child=FORKS.look_back)
