"""Threads for calls that may hang for ever. The end of the process does not wait for them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, ParamSpec, TypeVar

IDLE_S = 10.0
"""A thread without a call ends after this time."""
ResultT = TypeVar("ResultT")
Params = ParamSpec("Params")


class DaemonThreads(Executor):
    """Runs calls in at most so many threads. Further calls wait for a free one, in their order.

    Python waits for the threads of `ThreadPoolExecutor` before it ends, however long a name server
    or a disk keeps them. It does not wait for these.

    Args:
        max_threads: Most threads.
        name: Name of the threads, for logs.
    """

    def __init__(self, max_threads: int, name: str) -> None:
        self._max_threads, self._name = max_threads, name
        self._calls: SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = SimpleQueue()
        self._lock = threading.Lock()
        self._threads = self._unfinished = 0

    def submit(
        self, fn: Callable[Params, ResultT], /, *args: Params.args, **kwargs: Params.kwargs
    ) -> Future[ResultT]:
        """Run a call in one of the threads."""
        future: Future[ResultT] = Future()
        with self._lock:
            self._calls.put((future, partial(fn, *args, **kwargs)))
            self._unfinished += 1
            if self._threads < min(self._max_threads, self._unfinished):
                threading.Thread(target=self._work, name=self._name, daemon=True).start()
                self._threads += 1
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Do nothing: idle threads end by themselves."""

    def _work(self) -> None:
        while True:
            try:
                future, call = self._calls.get(timeout=IDLE_S)
            except Empty:
                with self._lock:
                    if self._calls.empty():
                        self._threads -= 1
                        return
                continue
            run_for_future(future, call)
            del future, call
            with self._lock:
                self._unfinished -= 1


def run_for_future(future: Future[Any], call: Callable[[], Any]) -> None:
    """Give a future what a call returns or raises, unless nobody waits for it any more."""
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = call()
    except BaseException as error:  # the caller gets it
        future.set_exception(error)
    else:
        future.set_result(result)
