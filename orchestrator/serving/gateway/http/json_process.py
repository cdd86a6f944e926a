"""Parser of large JSON in a separate process, so that other callers are served meanwhile."""

from __future__ import annotations

import asyncio
import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from typing import TypeVar

from orchestrator.errors import ServerError

T = TypeVar("T")

SMALL = 256 * 1024
"""Largest JSON, in bytes, that this process parses; it takes less than a millisecond."""


class Parser:
    """Runs functions on bodies: here if the JSON is small, else in one separate process."""

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None

    async def run(self, function: Callable[..., T], size: int, *arguments: object) -> T:
        """Return a function's result for the arguments.

        Args:
            function: A function of a module. It and its arguments can be pickled.
            size: Bytes of JSON among the arguments.
            arguments: Arguments of the function.

        Raises:
            ServerError: The process died twice, perhaps for lack of memory. The next call starts a
                new one.
        """
        if size <= SMALL:
            return function(*arguments)
        try:
            with suppress(BrokenProcessPool):  # it may have died earlier, or of another body
                return await self._run_apart(function, *arguments)
            return await self._run_apart(function, *arguments)
        except BrokenProcessPool as error:
            raise ServerError("the call could not be parsed; try again") from error

    async def _run_apart(self, function: Callable[..., T], *arguments: object) -> T:
        """Return a function's result from the separate process.

        Raises:
            BrokenProcessPool: The process died.
        """
        if self._pool is None:
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(max_workers=1, mp_context=context)
        pool = self._pool
        try:
            return await asyncio.get_running_loop().run_in_executor(pool, function, *arguments)
        except BrokenProcessPool:
            if self._pool is pool:  # else another call has closed it already
                self.close()
            raise

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None
