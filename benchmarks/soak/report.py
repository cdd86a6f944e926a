"""The report of a run, made of its samples alone: what grew, what was answered, what was wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.soak.judgement import Allowance, Drift, Trend, judge, judge_drift
from benchmarks.soak.samples import QUANTITIES, Calls, Held, Sample, find_replaced
from reporting.machine import Machine

ALLOWANCES = {
    # An arena that meets its first large picture late keeps 6 MiB for it, and there are eight for
    # each core: 64 MiB are ten of them. 0.1 MiB per 1,000 calls is 86 MiB a day at ten a second.
    "memory_mb": Allowance(noise=64.0, per_1000=0.1),
    # One more connection for each caller may be open at one end than at the other.
    "descriptors": Allowance(noise=4.0, per_1000=0.05),
    "threads": Allowance(noise=4.0, per_1000=0.05),
}
"""Of each role."""
SHM_ALLOWANCE = Allowance(noise=16.0, per_1000=0.1)  # two regions that grow once, by 8 MiB each
FILES_ALLOWANCE = Allowance(noise=2.0, per_1000=0.05)
SHM, FILES = "/dev/shm", "temporary files"
FEWEST_WINDOWS = 40
"""Samples with a latency, below which a drift says nothing: ten in each quarter."""


@dataclass(frozen=True)
class Quantity:
    """Something that must not grow.

    Attributes:
        of: A role, `/dev/shm` or `temporary files`.
        name: What it has: one of `QUANTITIES`, `MiB` or `files`.
        trend: How it went.
    """

    of: str
    name: str
    trend: Trend


@dataclass(frozen=True)
class SoakReport:
    """What a run found.

    Attributes:
        machine: It ran on.
        callers: At once.
        seconds: From the first call to the last sample.
        calls: What became of them.
        quantities: Whatever must not grow.
        drift: Of the latency; None in a run by count, or too short a one.
        wrong: Answers that were not what they must be, the first ones.
        replaced: Processes that ended or began meanwhile.
        left: What the service left behind.
        ended: Why the run ended early; empty when it did not.
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
        return [one for one in self.quantities if one.trend.grows]

    @property
    def is_judged(self) -> bool:
        """Whether there were samples enough to tell."""
        return all(one.trend.is_known for one in self.quantities)

    @property
    def has_failed(self) -> bool:
        is_slower = self.drift is not None and self.drift.grows
        troubles = (self.growing, self.wrong, self.replaced, self.left, self.ended)
        return any(troubles) or is_slower or not self.is_judged


def judge_samples(samples: Sequence[Sample]) -> tuple[Quantity, ...]:
    """Judge all that must not grow.

    Args:
        samples: Of one run, in order.
    """
    calls = [sample.calls.ended for sample in samples]
    found = [
        Quantity(role, name, judge(calls, read_role(samples, role, name), ALLOWANCES[name]))
        for role in list_roles(samples)
        for name in QUANTITIES
    ]
    shm = judge(calls, [sample.shm_mb for sample in samples], SHM_ALLOWANCE)
    files = judge(calls, [sample.files for sample in samples], FILES_ALLOWANCE)
    return (*found, Quantity(SHM, "MiB", shm), Quantity(FILES, "files", files))


def judge_latency(samples: Sequence[Sample]) -> Drift | None:
    """Compare late latencies with early ones; None where there are too few."""
    windows = [one.calls.p50_ms for one in samples if one.calls.p50_ms is not None]
    return judge_drift(windows) if len(windows) >= FEWEST_WINDOWS else None


def list_roles(samples: Sequence[Sample]) -> list[str]:
    """Return the roles of all processes that were seen, those with most memory first."""
    most: dict[str, float] = {}
    for sample in samples:
        for role, held in sample.roles.items():
            most[role] = max(held.memory_mb, most.get(role, 0.0))
    return sorted(most, key=lambda role: -most[role])


def read_role(samples: Sequence[Sample], role: str, name: str) -> list[float]:
    """Return one quantity of a role over a run; 0 where the role has no process."""
    return [float(getattr(sample.roles.get(role, Held()), name)) for sample in samples]


def find_replacements(samples: Sequence[Sample]) -> tuple[str, ...]:
    """Return which processes came or went."""
    return tuple(find_replaced(samples))
