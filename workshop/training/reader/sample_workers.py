"""Production of training samples, in this process or in workers; both make the same samples.

Rendering a sample takes about as long as training on it six times on a CPU core. A GPU would wait
for a single process most of the time.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Generator, Iterable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import forkserver, resource_tracker

import cv2
import numpy as np

from workshop.rendering.samples.synth import Batch, Sample
from workshop.training.reader.sources import Source

Job = tuple[int, int]
"""Index of the source, and number of the sample."""
NumberedSample = tuple[Job, Sample]

AHEAD = 4
"""Number of lists of jobs that each worker finishes ahead of time."""
CHUNK = 16
"""Number of samples in one list of jobs."""
MAX_WORKERS = 16


def choose_workers(workers: int | None) -> int:
    """Return the number of processes that make samples: as asked, else all cores except two."""
    return (
        min(MAX_WORKERS, max(0, len(os.sched_getaffinity(0)) - 2)) if workers is None else workers
    )


def make_samples(
    sources: Sequence[tuple[Source, int]], jobs: Iterable[list[Job]], workers: int
) -> Generator[list[NumberedSample], None, None]:
    """Make samples ahead of time; closing the generator ends the workers.

    Args:
        sources: Sources of samples, each with its seed; pickled for the workers.
        jobs: Lists of samples to make; may be endless.
        workers: Number of processes; 0: this process makes the samples on demand.

    Yields:
        Samples of each list, in the order of the lists.

    Raises:
        PlateError: A source raised it.
    """
    maker = _Maker(sources)
    yield from map(maker.make, jobs) if workers == 0 else _start(maker, jobs, workers)


def make_batch(source: Source, count: int, seed: int, workers: int) -> Batch:
    """Make `count` samples of one source; the same seed gives the same samples."""
    jobs = [
        [(0, number) for number in range(first, min(first + CHUNK, count))]
        for first in range(0, count, CHUNK)
    ]
    samples = [sample for part in make_samples([(source, seed)], jobs, workers) for sample in part]
    return Batch.of([sample for _, sample in samples])


class _Maker:
    """Makes the samples of lists of jobs; source, seed and number alone determine a sample."""

    def __init__(self, sources: Sequence[tuple[Source, int]]) -> None:
        self._sources = sources

    def make(self, jobs: list[Job]) -> list[NumberedSample]:
        return [(job, self._make_sample(*job)) for job in jobs]

    def _make_sample(self, index: int, number: int) -> Sample:
        source, seed = self._sources[index]
        return source(np.random.default_rng([seed, 0, number]))


def _start(
    maker: _Maker, jobs: Iterable[list[Job]], workers: int
) -> Generator[list[NumberedSample], None, None]:
    # A worker forked beside training threads may wait for a lock that is never released. So a fresh
    # process forks the workers. PyTorch's own loader would also work, but its SIGCHLD handler
    # stays active after it. Later child processes then ended this process.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["workshop.training.reader.sources"])
    _start_fork_server()
    pool = ProcessPoolExecutor(workers, context, initializer=_begin, initargs=(maker,))
    ahead: deque[Future[list[NumberedSample]]] = deque()
    try:
        for job in jobs:
            ahead.append(pool.submit(_make, job))
            if len(ahead) > workers * AHEAD:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


def _start_fork_server() -> None:
    """Start the process that forks the workers, with Ctrl-C blocked, which its workers inherit.

    A worker that ignores Ctrl-C only later could receive one during Python's start.
    """
    resource_tracker.ensure_running()  # its start would unblock Ctrl-C again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin(maker: _Maker) -> None:
    """Prepare a worker; it ignores Ctrl-C, since the training process ends its workers."""
    global _maker
    _maker = maker
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    cv2.setNumThreads(1)


def _make(jobs: list[Job]) -> list[NumberedSample]:
    return _maker.make(jobs)


_maker: _Maker
