"""All rounds of a run: every cell, the bare networks and the predecessor, in turn."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import typer

from orchestrator.bench import bounds, sampling
from orchestrator.bench.child import Child
from orchestrator.bench.figures import Figures
from orchestrator.bench.pictures import Picture
from orchestrator.bench.plan import IN_PROCESS, Key, Task, grid
from orchestrator.bench.sampling import Sample
from orchestrator.bench.target import Target, target
from orchestrator.errors import PlateError, ServerError


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
    predecessor: dict[str, list[dict[str, float]]] = field(default_factory=dict)
    server: Target | None = None
    ended: str = ""
    rounds: int = 0


@dataclass(frozen=True)
class Session:
    """What runs while a run lasts.

    Attributes:
        server: The server under load; None where no transport needs one.
        worker: The pipeline in process.
        single: The same with one thread, for the bare stages; None where `worker` has no more.
        predecessor: Its script; None when none is wanted.
        pictures: By name.
        files: The same pictures as files.
    """

    server: Target | None
    worker: Child
    single: Child | None
    predecessor: Child | None
    pictures: Mapping[str, Picture]
    files: Mapping[str, Path]

    def sample(self, key: Key, seconds: float) -> Sample:
        """Measure one cell once.

        Raises:
            ServerError: What is measured has ended.
        """
        if key.transport == IN_PROCESS:
            return sampling.in_process(key, self.files, self.worker, seconds)
        assert self.server is not None
        sample = sampling.served(key, self.pictures[key.picture], self.server, seconds)
        if reason := self.server.ended():
            raise ServerError(reason)
        return sample


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
        parameters = server.parameters if server else {}
        worker = stack.enter_context(bounds.worker(task, parameters))
        single = None
        if bounds.threads_of(task) > 1:
            single = stack.enter_context(bounds.worker(replace(task, threads=1), parameters))
        predecessor = stack.enter_context(bounds.predecessor(task))
        by_name = {picture.name: picture for picture in pictures}
        yield Session(server, worker, single, predecessor, by_name, files)


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
    progress = _Progress(task.rounds * len(grid(task, list(session.pictures), 0)))
    for round_ in range(task.rounds):
        for name, file in session.files.items():
            question = {"do": "bare", "picture": str(file)}
            workers = filter(None, (session.worker, session.single))
            rows = [row for child in workers for row in child.ask(question)["bare"]]
            record.bare.setdefault(name, []).append(rows)
            if session.predecessor:
                stages = bounds.stages_ms(session.predecessor, file)
                record.predecessor.setdefault(name, []).append(stages)
        for key in grid(task, list(session.pictures), round_):
            sample = session.sample(key, task.seconds)
            record.samples.setdefault(key, []).append(sample)
            progress.show(key, sample)
        record.rounds += 1


@dataclass
class _Progress:
    """Tells on stderr what was measured and how long the rest takes."""

    cells: int
    done: int = 0
    started: float = field(default_factory=time.monotonic)

    def show(self, key: Key, sample: Sample) -> None:
        self.done += 1
        rest_s = (time.monotonic() - self.started) * (self.cells - self.done) / self.done
        failed = f", {sample.errors} errors" if sample.errors else ""
        typer.echo(
            f"{self.done}/{self.cells}  {key.picture}, {key.transport} x{key.concurrency}: "
            f"{sample.throughput:.1f} pictures/s{failed}; {_minutes(rest_s)} left",
            err=True,
        )


def _minutes(seconds: float) -> str:
    return f"about {seconds / 60:.0f} min" if seconds >= 90 else f"about {seconds:.0f} s"
