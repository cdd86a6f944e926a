"""The report of a soak run, made from its samples: growth, answers and errors."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from workshop.benchmarks.soak.samples import QUANTITIES, Calls
from workshop.benchmarks.soak.trends import Allowance, Drift, Trend, judge, judge_drift
from workshop.reporting.machine import Machine

ALLOWANCES = {
    # An arena that gets its first large picture late keeps 6 MiB for it. There are eight arenas for
    # each core; 64 MiB are ten of them. 0.1 MiB per 1,000 calls is 86 MiB a day at ten a second.
    "memory_mb": Allowance(noise=64.0, per_1000=0.1),
    # One end of a connection may stay open longer than the other, for each caller.
    "descriptors": Allowance(noise=4.0, per_1000=0.05),
    "threads": Allowance(noise=4.0, per_1000=0.05),
}
"""The allowed growth of each quantity of a role."""
SHM_ALLOWANCE = Allowance(noise=32.0, per_1000=0.1)
"""Each worker's region may grow once, by 8 MiB. In a short run, two such steps close to each other
have a steep slope. The noise is therefore that of four regions."""
FILES_ALLOWANCE = Allowance(noise=2.0, per_1000=0.05)
SHM, FILES = "/dev/shm", "temporary files"
MEMORY = "memory_mb "
"""The start of the names of the columns with the memory of a role."""
MIN_WINDOWS = 40
"""The fewest samples with a latency that a drift is judged from: ten in each quarter."""


@dataclass(frozen=True)
class Quantity:
    """A quantity that must not grow.

    Attributes:
        name: The kind of quantity: one of `QUANTITIES`, `MiB` or `files`.
    """

    of: str
    name: str
    trend: Trend


@dataclass(frozen=True)
class SoakReport:
    """The results of a soak run.

    Attributes:
        drift: The change of the latency; None in a run by count, and in one that is too short.
        replaced: Processes that ended during the run, and how many began in the same moment.
    """

    machine: Machine
    callers: int
    seconds: float
    calls: Calls
    quantities: tuple[Quantity, ...]
    drift: Drift | None
    wrong: tuple[str, ...]
    replaced: tuple[str, ...]
    left: tuple[str, ...]
    ended: str

    @property
    def growing(self) -> list[Quantity]:
        return [quantity for quantity in self.quantities if quantity.trend.grows]

    @property
    def is_judged(self) -> bool:
        """True when there were enough samples to judge every quantity."""
        return all(quantity.trend.is_known for quantity in self.quantities)

    @property
    def has_failed(self) -> bool:
        is_slower = self.drift is not None and self.drift.grows
        troubles = (self.growing, self.wrong, self.replaced, self.left, self.ended)
        return any(troubles) or is_slower or not self.is_judged


def judge_samples(table: pd.DataFrame) -> tuple[Quantity, ...]:
    """Judge all quantities that must not grow by the table of a run's samples."""

    def judge_column(column: str, allowance: Allowance) -> Trend:
        return judge(table["calls"].tolist(), table[column].tolist(), allowance)

    of_roles = [
        Quantity(role, name, judge_column(f"{name} {role}", ALLOWANCES[name]))
        for role in list_roles(table)
        for name in QUANTITIES
    ]
    shm = judge_column("shm_mb", SHM_ALLOWANCE)
    files = judge_column("files", FILES_ALLOWANCE)
    return (*of_roles, Quantity(SHM, "MiB", shm), Quantity(FILES, "files", files))


def judge_latency(table: pd.DataFrame) -> Drift | None:
    """Compare late latencies with early ones; None when there are too few."""
    windows = table["p50_ms"].dropna().tolist()
    return judge_drift(windows) if len(windows) >= MIN_WINDOWS else None


def list_roles(table: pd.DataFrame) -> list[str]:
    """Return the roles of all processes in the samples, sorted from most to least memory."""
    most = table.filter(like=MEMORY).max().sort_values(ascending=False, kind="stable")
    return [str(column).removeprefix(MEMORY) for column in most.index]
