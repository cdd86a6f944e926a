"""Makes training samples, in this process or in workers: the same ones whoever makes them.

A sample takes about as long to render as a CPU core takes to learn from it six times; a GPU would
wait for one process most of the time.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Generator, Iterable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor

import cv2
import numpy as np

from rendering.synth import Batch, Sample
from training.sources import Source

Job = tuple[int, int]
"""Which source, which of its samples."""
Made = tuple[Job, Sample]

AHEAD = 4
"""Lists of jobs that each worker has made before they are asked for."""
CHUNK = 16
"""Samples that are made in one go."""
MOST_WORKERS = 16


def choose_workers(asked: int | None) -> int:
    """Return how many processes make samples: as asked, else the cores but two, which train."""
    return min(MOST_WORKERS, max(0, len(os.sched_getaffinity(0)) - 2)) if asked is None else asked


def make_samples(
    sources: Sequence[tuple[Source, int]], jobs: Iterable[list[Job]], workers: int
) -> Generator[list[Made], None, None]:
    """Make samples ahead of time; closing what this returns ends the workers.

    Args:
        sources: What makes samples, each with its seed; pickled for the workers.
        jobs: Lists of samples to make, may be endless.
        workers: Processes; 0: this one makes them when they are asked for.

    Yields:
        What each list asks for, in the order of the lists.

    Raises:
        PlateError: A source raised it.
    """
    maker = _Maker(sources)
    yield from map(maker.make, jobs) if workers == 0 else _start(maker, jobs, workers)


def make_batch(source: Source, count: int, seed: int, workers: int) -> Batch:
    """Make so many samples of one source, the same ones for the same seed."""
    jobs = [
        [(0, number) for number in range(first, min(first + CHUNK, count))]
        for first in range(0, count, CHUNK)
    ]
    made = [one for part in make_samples([(source, seed)], jobs, workers) for one in part]
    return Batch.of([sample for _, sample in made])


class _Maker:
    """Samples by lists of jobs; each comes from its source's seed and its number alone."""

    def __init__(self, sources: Sequence[tuple[Source, int]]) -> None:
        self._sources = sources

    def make(self, jobs: list[Job]) -> list[Made]:
        return [(job, self._make_one(*job)) for job in jobs]

    def _make_one(self, index: int, number: int) -> Sample:
        source, seed = self._sources[index]
        return source(np.random.default_rng([seed, 0, number]))


def _start(
    maker: _Maker, jobs: Iterable[list[Job]], workers: int
) -> Generator[list[Made], None, None]:
    # Forked beside the threads that train, a worker may wait for a lock that nobody frees: they are
    # forked by a process that has done nothing else yet. PyTorch's own loader would do, but its
    # handler of SIGCHLD outlives it, and with it later children of the process ended it.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["training.sources"])
    pool = ProcessPoolExecutor(workers, context, initializer=_begin, initargs=(maker,))
    ahead: deque[Future[list[Made]]] = deque()
    try:
        for job in jobs:
            ahead.append(pool.submit(_make, job))
            if len(ahead) > workers * AHEAD:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


def _begin(maker: _Maker) -> None:
    """Prepare a worker: Ctrl-C is for the process that trains, which ends its workers."""
    global _maker
    _maker = maker
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    cv2.setNumThreads(1)


def _make(jobs: list[Job]) -> list[Made]:
    return _maker.make(jobs)


_maker: _Maker
