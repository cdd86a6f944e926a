"""The common parts of the steps: their results, and the size of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

Row = tuple[str, ...]
WAYS = {
    "default": "as plates serve does",
    "pictures-on-gpu": "pictures on the device, too",
    "float32": "detector in float32",
    "instance": "one instance of detector and reader",
}
"""The ways to run a server, by the names of their steps."""


@dataclass(frozen=True)
class StepResult:
    """The result of one step: a table, and what is wrong.

    Attributes:
        wrong: Wanted results that did not come; empty when all is right.
    """

    title: str
    header: tuple[str, ...]
    rows: tuple[Row, ...]
    wrong: tuple[str, ...] = ()
    figures: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Scope:
    """The size of a run.

    Attributes:
        device: `gpu`, or `cpu` in a rehearsal.
        pictures: The number of pictures whose answers are compared.
        runs: The number of times that a file of each size is decoded.
        workers: The numbers of pictures that a server processes at once.
        ways: The ways to run a server, by their names.
        calls: The numbers of calls at once.
        faults: The faults that are made in workers, by name; all when None.
        is_whole: A server gets pictures that need every part of the pipeline, and not one alone.
        seconds: The duration of each measurement of a server.
    """

    device: str
    pictures: int
    runs: int
    workers: Sequence[int]
    calls: Sequence[int]
    seconds: float
    ways: Sequence[str] = tuple(WAYS)
    faults: Sequence[str] | None = None
    is_whole: bool = True

    @property
    def torch_device(self) -> str:
        """The name of the device in PyTorch."""
        return "cuda" if self.device == "gpu" else "cpu"


WHOLE = Scope(
    device="gpu",
    pictures=300,
    runs=30,
    workers=(8, 16, 24),
    calls=(1, 4, 16, 64),
    seconds=10.0,
)
QUICK = replace(
    WHOLE,
    pictures=60,
    runs=10,
    workers=(24,),
    calls=(1, 48),
    seconds=5.0,
    ways=("default", "pictures-on-gpu"),
    faults=("access-plate_recognition",),
)
"""A run of some eight minutes."""
REHEARSAL = Scope(
    device="cpu",
    pictures=2,
    runs=1,
    workers=(1,),
    calls=(1,),
    seconds=0.3,
    ways=("default",),
    faults=("access-plate_recognition",),
    is_whole=False,
)
