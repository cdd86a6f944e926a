"""Large JSON is parsed in a process of its own: meanwhile everybody else is served."""

from __future__ import annotations

import asyncio
import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from orchestrator.errors import ServerError

T = TypeVar("T")

SMALL = 256 * 1024
"""Bytes of JSON that take less than a millisecond."""


class Parser:
    """Runs functions on bodies, in place or in one process beside, by their size."""

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None

    async def run(self, function: Callable[..., T], size: int, *arguments: object) -> T:
        """Return what a function of a module makes of the arguments.

        Args:
            function: It and its arguments can be pickled.
            size: Bytes of JSON among the arguments.
            arguments: Of the function.

        Raises:
            ServerError: The process died, for want of memory maybe; the next call gets a new one.
        """
        if size <= SMALL:
            return function(*arguments)
        if self._pool is None:
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(max_workers=1, mp_context=context)
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._pool, function, *arguments)
        except BrokenProcessPool as error:
            self.close()
            raise ServerError("the call could not be parsed; try again") from error

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None
