"""Calls that nobody can end, with a limit on the wait for them.

The resolver of names, and libraries for remote storage, may block for as long as they like. Their
calls run in threads, and the caller stops waiting at the limit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as LimitReached
from threading import Lock, Semaphore, Thread
from typing import Generic, TypeVar

from plate_cameras.clocks import steady_s
from plate_cameras.store.errors import StoreUnavailable

ResultT = TypeVar("ResultT")


class BoundedCalls:
    """Runs blocking calls, each in a thread of its own.

    A call that was given up keeps its thread until it ends by itself. When no thread is left,
    further calls fail at the limit, too.

    Args:
        what: The thing that is called, for error messages.
        most: Most calls at once.
        limit_s: Longest wait for a call, and for its turn.
    """

    def __init__(self, what: str, most: int, limit_s: float) -> None:
        self.limit_s = limit_s
        self._what = what
        self._slots = Semaphore(most)

    def run(
        self,
        call: Callable[[], ResultT],
        limit_s: float | None = None,
        drop: Callable[[ResultT], object] = lambda _: None,
    ) -> ResultT:
        """Return what a call returns.

        Args:
            call: The call.
            limit_s: Longest wait; None for that of all calls.
            drop: Takes a result that came too late.

        Raises:
            StoreUnavailable: It took too long, or no thread can be started.
        """
        ends_s = steady_s() + (self.limit_s if limit_s is None else limit_s)
        return self._wait(self._start(call, drop, ends_s), ends_s)

    def run_all(self, calls: Sequence[Callable[[], ResultT]]) -> list[ResultT]:
        """Return what calls return that run at the same time, with one limit for all of them.

        Raises:
            StoreUnavailable: They took too long, or no thread can be started.
        """
        ends_s = steady_s() + self.limit_s
        running_calls = [self._start(call, lambda _: None, ends_s) for call in calls]
        return [self._wait(running_call, ends_s) for running_call in running_calls]

    def _start(
        self, call: Callable[[], ResultT], drop: Callable[[ResultT], object], ends_s: float
    ) -> _Call[ResultT]:
        if not self._slots.acquire(timeout=max(0.0, ends_s - steady_s())):
            raise self._silent()
        running = _Call(call, drop, self._slots.release)
        try:
            Thread(target=running.run, name=f"bounded {self._what}", daemon=True).start()
        except RuntimeError as error:
            self._slots.release()
            raise StoreUnavailable(f"{self._what} cannot be asked: {error}") from error
        return running

    def _wait(self, running: _Call[ResultT], ends_s: float) -> ResultT:
        try:
            return running.result(max(0.0, ends_s - steady_s()))
        except LimitReached as error:
            if running.give_up():
                raise self._silent() from error
            return running.result(0)

    def _silent(self) -> StoreUnavailable:
        return StoreUnavailable(f"{self._what} does not answer")


class _Call(Generic[ResultT]):
    """A call in a thread, which its caller may give up."""

    def __init__(
        self,
        call: Callable[[], ResultT],
        drop: Callable[[ResultT], object],
        done: Callable[[], None],
    ) -> None:
        self._call, self._drop, self._done = call, drop, done
        self._future: Future[ResultT] = Future()
        self._lock = Lock()
        self._is_given_up = False

    def run(self) -> None:
        try:
            result = self._call()
        except BaseException as error:
            # Without its frames, which would keep the call's connection open until a garbage
            # collection: they and the future refer to each other.
            self._future.set_exception(error.with_traceback(None))
        else:
            with self._lock:
                self._future.set_result(result)
                is_late = self._is_given_up
            if is_late:
                self._drop(result)
        finally:
            self._done()

    def result(self, within_s: float) -> ResultT:
        return self._future.result(within_s)

    def give_up(self) -> bool:
        """Return False if the result came at this very moment."""
        with self._lock:
            self._is_given_up = not self._future.done()
            return self._is_given_up
