"""All rounds of a run: every cell and the bare networks, in turn."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import typer

from benchmarks import child
from benchmarks.child import Child
from benchmarks.figures import Figures
from benchmarks.load import Sample, closed_loop
from benchmarks.metrics import difference, scrape
from benchmarks.pictures import Picture
from benchmarks.plan import IN_PROCESS, Key, Task, grid
from benchmarks.processes import Watch, cpu_s, tree
from benchmarks.target import Target, target
from benchmarks.wire import REGION, connected
from orchestrator.errors import PlateError, ServerError

SETTLED_S = 0.05
"""After an answer, until the server has counted it."""


@dataclass
class Record:
    """What was measured so far, by cell and by picture; a value for each round.

    Attributes:
        server: What was measured; None where no transport needs one.
        ended: Why the run ended early; empty when it did not.
        rounds: How many rounds are complete.
    """

    samples: dict[Key, list[Sample]] = field(default_factory=dict)
    bare: dict[str, list[list[Figures]]] = field(default_factory=dict)
    server: Target | None = None
    ended: str = ""
    rounds: int = 0


@dataclass(frozen=True)
class Session:
    """What runs while a run lasts.

    Attributes:
        server: The server under load; None where no transport needs one.
        worker: The pipeline in process.
        pictures: By name.
        files: The same pictures as files.
    """

    server: Target | None
    worker: Child
    pictures: Mapping[str, Picture]
    files: Mapping[str, Path]

    def sample(self, key: Key, seconds: float) -> Sample:
        """Measure one cell once.

        Raises:
            ServerError: What is measured has ended.
        """
        if key.transport == IN_PROCESS:
            question = {"do": "load", "picture": str(self.files[key.picture])}
            asked = question | {"concurrency": key.concurrency, "seconds": seconds}
            return Sample(**self.worker.ask(asked))
        assert self.server is not None
        sample = served(key, self.pictures[key.picture], self.server, seconds)
        if reason := self.server.ended():
            raise ServerError(reason)
        return sample


def served(key: Key, picture: Picture, server: Target, seconds: float) -> Sample:
    """Measure one cell of a server; of one that is not ours only what it tells.

    Raises:
        ServerError: The server's metrics cannot be read.
    """
    own = server.server
    pids = tree(own.process.pid) if own else frozenset()
    watch = Watch(pids, (own.shm_prefix, REGION) if own else ())

    def usage() -> dict[str, float]:
        client = {"client_cpu_s": time.process_time()}
        return client | ({"cpu_s": cpu_s(pids)} if pids else {})

    before = scrape(server.address.metrics)
    sample = closed_loop(
        lambda: connected(key.transport, picture, server.address),
        key.concurrency,
        seconds,
        usage=usage,
        look=watch.look,
    )
    time.sleep(SETTLED_S)
    counters = difference(before, scrape(server.address.metrics))
    return replace(sample, peaks=watch.peaks(), counters=counters)


@contextmanager
def opened(task: Task, pictures: Sequence[Picture]) -> Iterator[Session]:
    """Start everything that is measured, for the length of a `with` block.

    Raises:
        PlateError: Something of it cannot be started.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="plates-bench-")))
        files = {one.name: folder / f"{index}.jpg" for index, one in enumerate(pictures)}
        for one in pictures:
            files[one.name].write_bytes(one.encoded)
        server = stack.enter_context(target(task)) if task.is_served else None
        worker = stack.enter_context(child.worker(task, server.parameters if server else {}))
        yield Session(server, worker, {one.name: one for one in pictures}, files)


Start = Callable[[Task, Sequence[Picture]], AbstractContextManager[Session]]


def measure(task: Task, pictures: Sequence[Picture], start: Start = opened) -> Record:
    """Measure every round; Ctrl-C or a server's end stops it and keeps what there is.

    Args:
        task: What to measure.
        pictures: What to send.
        start: Starts what is measured.

    Raises:
        PlateError: What is measured cannot be started, or ended before anything was measured.
    """
    record = Record()
    try:
        with start(task, pictures) as session:
            record.server = session.server
            _rounds(task, session, record)
    except KeyboardInterrupt:
        record.ended = "interrupted"
    except PlateError as error:
        if not record.samples:
            raise
        record.ended = str(error)
    return record


def _rounds(task: Task, session: Session, record: Record) -> None:
    names = list(session.files)
    cells = task.rounds * len(grid(task, names, 0))
    started, done = time.monotonic(), 0
    for round_ in range(task.rounds):
        for name, file in session.files.items():
            rows = session.worker.ask({"do": "bare", "picture": str(file)})["bare"]
            record.bare.setdefault(name, []).append(rows)
        for key in grid(task, names, round_):
            sample = session.sample(key, task.seconds)
            record.samples.setdefault(key, []).append(sample)
            done += 1
            rest_s = (time.monotonic() - started) * (cells - done) / done
            typer.echo(f"{done}/{cells}  {_progress(key, sample, rest_s)}", err=True)
        record.rounds += 1


def _progress(key: Key, sample: Sample, rest_s: float) -> str:
    failed = f", {sample.errors} errors" if sample.errors else ""
    left = f"{rest_s / 60:.0f} min" if rest_s >= 90 else f"{rest_s:.0f} s"
    return (
        f"{key.picture}, {key.transport} x{key.concurrency}: "
        f"{sample.throughput:.1f} pictures/s{failed}; about {left} left"
    )
