"""Spreads partitions over actors with Ray Data, on this machine or on a cluster."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import secrets
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

from orchestrator.cli.archive.actor import ArchiveActor, Job, PartitionOutcome, to_row
from orchestrator.cli.archive.listing import Partition
from orchestrator.cli.archive.storage import load
from orchestrator.errors import ServerError
from orchestrator.host.locked_folders import LockedFolder, remove_left_folders

AT_ONCE = 1024
"""Partitions that Ray gets at once: half a million names of pictures, about 50 MB."""
OBJECTS_BYTES = 80 << 20
"""Memory for Ray's exchange between its processes, here only names; Ray accepts no less."""
ROUNDS = 3
"""Rounds after which a partition is left out because its actors died each time: one of its pictures
may kill them. In each round Ray sends it twice, and a lost machine uses up both tries at once."""
CORES_EACH = 1
QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_BACKEND_LOG_LEVEL": "fatal",
    "RAY_DATA_LOG_LEVEL": "CRITICAL",
}
"""Variables that keep Ray from sending usage statistics and from printing messages of its own."""


@dataclass(frozen=True)
class ActorPlan:
    """The actors and cores for the work.

    Attributes:
        actors: Number of actors at once; 0 means as many as a cluster has cores for.
        cpus: Cores of each actor.
        gpus: GPUs of each actor, or the share of one.
        address: Address of a Ray cluster; empty starts Ray on this machine for the time of the
            command.
        is_verbose: Ray's own messages are shown.
    """

    actors: int = 1
    cpus: int = 1
    gpus: float = 0.0
    address: str = ""
    is_verbose: bool = False

    @classmethod
    def of_networks(
        cls, actors: int, threads: int, gpus: int, address: str, *, is_verbose: bool = False
    ) -> ActorPlan:
        """Return the spread for networks: over a cluster, or over this machine's cores or GPUs.

        Args:
            actors: Number of actors; 0 means as many as fit.
            threads: Cores of each actor; 0 means as many as fit.
            gpus: GPUs of this machine, or of each actor on a cluster.
            address: Address of a cluster; empty means this machine.
            is_verbose: Ray's own messages are shown.
        """
        if address:
            return cls(actors, threads or CORES_EACH, float(gpus), address, is_verbose)
        cores = len(os.sched_getaffinity(0))
        count = actors or gpus or max(1, cores // (threads or CORES_EACH))
        return cls(
            count, threads or max(1, cores // count), min(1.0, gpus / count), is_verbose=is_verbose
        )

    @contextmanager
    def connect(self) -> Iterator[None]:
        """Run Ray for the length of a `with` block, and remove its processes and files afterwards.

        Raises:
            ExtraError: Ray is not installed.
            ServerError: Ray cannot be started, or cannot be reached.
        """
        if not self.is_verbose:
            for name, value in QUIET.items():
                os.environ.setdefault(name, value)
        if not self.address:  # Ray's ports are open to the network, and a client can run programs
            os.environ.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=secrets.token_hex(32))
        ray = load("ray")  # reads all these variables now
        load("ray.data")
        with ExitStack() as stack:
            if not self.is_verbose:  # Ray prints about dead actors on standard output
                stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
            options = {"address": self.address} if self.address else self._own(stack)
            level = logging.WARNING if self.is_verbose else logging.CRITICAL
            try:
                stack.callback(ray.shutdown)
                with contextlib.nullcontext() if self.is_verbose else _silence():
                    ray.init(log_to_driver=self.is_verbose, logging_level=level, **options)
                logging.getLogger("ray.data").setLevel(level)
            except (OSError, RuntimeError, ValueError) as error:
                server = f"Ray at {self.address}" if self.address else "Ray"
                raise ServerError(f"{server} cannot be reached: {error}") from error
            yield

    def _own(self, stack: ExitStack) -> dict[str, Any]:
        """Return the options of a local Ray: small, in a folder that is removed with it."""
        remove_left_folders()
        ray_folder = LockedFolder.make("ray-")
        stack.callback(ray_folder.remove)
        return {
            "address": "local",  # ignores RAY_ADDRESS
            "num_cpus": self.actors * self.cpus,
            "include_dashboard": False,
            "object_store_memory": OBJECTS_BYTES,
            "_temp_dir": str(ray_folder.folder),
            # Not /dev/shm: a container has only 64 MB of it.
            "_plasma_directory": str(ray_folder.folder),
        }

    def work(self, job: Job, partitions: Iterable[Partition]) -> Iterator[PartitionOutcome]:
        """Yield the outcomes of partitions when they are done.

        An actor that dies is started again, on another machine if its own is gone. Its partition is
        then done again, as its file was not written.

        Args:
            job: The job of the actors.
            partitions: Partitions; they are taken when there is space for them.
        """
        queue = iter(partitions)
        while batch := [*islice(queue, AT_ONCE)]:
            yield from do_in_rounds(batch, partial(self._spread, job))

    def _spread(self, job: Job, partitions: Sequence[Partition]) -> Iterator[PartitionOutcome]:
        try:
            for row in self._pipeline(job, partitions).iter_rows():
                yield PartitionOutcome(**row)
        except load("ray.exceptions").RayError as error:
            raise ServerError(f"Ray: {str(error).strip().splitlines()[-1]}") from error

    def _pipeline(self, job: Job, partitions: Sequence[Partition]) -> Any:
        data = load("ray.data")
        context = data.DataContext.get_current()
        context.enable_progress_bars = False
        context.max_errored_blocks = -1  # errors are reported, and the rest goes on
        rows = data.from_items([*map(to_row, partitions)], override_num_blocks=len(partitions))
        with warnings.catch_warnings():  # Ray 2.60 has no other way to set the retries
            warnings.simplefilter("ignore")
            return rows.map(
                ArchiveActor,
                fn_constructor_args=(job,),
                compute=data.ActorPoolStrategy(size=min(self._count_actors(), len(partitions))),
                num_cpus=self.cpus,
                num_gpus=self.gpus or None,
                max_restarts=-1,
                max_task_retries=1,
            )

    def _count_actors(self) -> int:
        cores = load("ray").cluster_resources().get("CPU", 0)
        return self.actors or max(1, int(cores) // self.cpus)


def do_in_rounds(
    partitions: Sequence[Partition],
    spread: Callable[[Sequence[Partition]], Iterable[PartitionOutcome]],
) -> Iterator[PartitionOutcome]:
    """Yield the outcomes of partitions. Partitions without an outcome are distributed again.

    Args:
        partitions: Partitions, whose files are written as a whole: doing one twice does no harm.
        spread: Yields the outcomes in any order; none for partitions whose actors died.
    """
    unfinished_partitions = {partition.name: partition for partition in partitions}
    for _ in range(ROUNDS):
        if not unfinished_partitions:
            return
        for outcome in spread([*unfinished_partitions.values()]):
            unfinished_partitions.pop(outcome.name, None)
            yield outcome
    for name in unfinished_partitions:
        yield PartitionOutcome(name, error="the processes that were at it died, again and again")


@contextmanager
def _silence() -> Iterator[None]:
    """Discard standard error: Ray's libraries write there even when all messages are off."""
    stderr = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)
        os.close(nowhere)
