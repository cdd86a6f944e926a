"""The report of a soak run, made from its samples: growth, answers and errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workshop.benchmarks.soak.samples import QUANTITIES, Calls, Held, Sample
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


def judge_samples(samples: Sequence[Sample]) -> tuple[Quantity, ...]:
    """Judge all quantities that must not grow by the samples of a run."""
    calls = [sample.calls.ended for sample in samples]
    of_roles = [
        Quantity(role, name, judge(calls, read_role(samples, role, name), ALLOWANCES[name]))
        for role in list_roles(samples)
        for name in QUANTITIES
    ]
    shm = judge(calls, [sample.shm_mb for sample in samples], SHM_ALLOWANCE)
    files = judge(calls, [sample.files for sample in samples], FILES_ALLOWANCE)
    return (*of_roles, Quantity(SHM, "MiB", shm), Quantity(FILES, "files", files))


def judge_latency(samples: Sequence[Sample]) -> Drift | None:
    """Compare late latencies with early ones; None when there are too few."""
    windows = [sample.calls.p50_ms for sample in samples if sample.calls.p50_ms is not None]
    return judge_drift(windows) if len(windows) >= MIN_WINDOWS else None


def list_roles(samples: Sequence[Sample]) -> list[str]:
    """Return the roles of all processes in the samples, sorted from most to least memory."""
    most: dict[str, float] = {}
    for sample in samples:
        for role, held in sample.roles.items():
            most[role] = max(held.memory_mb, most.get(role, 0.0))
    return sorted(most, key=lambda role: -most[role])


def read_role(samples: Sequence[Sample], role: str, name: str) -> list[float]:
    """Return one quantity of a role, sample by sample; 0 while the role has no process."""
    return [float(getattr(sample.roles.get(role, Held()), name)) for sample in samples]
