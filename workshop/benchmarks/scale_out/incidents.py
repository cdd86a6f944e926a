"""Makes incidents happen to replicas under load: a kill, a lost worker, a rolling restart."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from orchestrator.contract import READER
from workshop.benchmarks.load.closed_loop import Call, Load
from workshop.benchmarks.scale_out.balancer import Balancer
from workshop.benchmarks.service import Service, wait

DRAIN_TIMEOUT_S = 30.0
STEADY_S = 4.0


@dataclass(frozen=True)
class Fleet:
    """Replicas behind a balancer."""

    replicas: Sequence[Service]
    balancer: Balancer

    def wait_until_up(self, count: int | None = None) -> None:
        """Wait until every replica, or the first `count`, answers and gets calls."""
        for replica in self.replicas[:count]:
            replica.wait_until_ready()
            wait(partial(self.balancer.is_up, replica.name), f"{replica.name} to get calls")


def do_nothing(fleet: Fleet) -> None:
    """Wait without an incident, for comparison."""
    time.sleep(STEADY_S)


def kill(fleet: Fleet) -> None:
    """Kill a replica at once, as when its machine fails, and start it again."""
    replica = fleet.replicas[0]
    replica.kill()
    replica.start()
    fleet.wait_until_up()


def kill_a_worker(fleet: Fleet) -> None:
    """Kill one worker process; the supervisor replaces it."""
    replica = fleet.replicas[0]
    victim = replica.find(READER)
    os.kill(victim, signal.SIGKILL)
    wait(lambda: replica.is_whole([victim]), f"a new worker in {replica.name}")
    fleet.wait_until_up()


def restart_all(fleet: Fleet) -> None:
    """Restart the replicas one by one: drain a replica, wait for its last calls, stop, start."""
    for replica in fleet.replicas:
        fleet.balancer.set_state(replica.name, "drain")
        wait(
            partial(fleet.balancer.is_idle, replica.name),
            f"{replica.name} to answer its last calls",
            DRAIN_TIMEOUT_S,
        )
        replica.stop()
        replica.start()
        replica.wait_until_ready()
        fleet.balancer.set_state(replica.name, "ready")
        fleet.wait_until_up()


INCIDENTS: Mapping[str, Callable[[Fleet], None]] = {
    "nothing": do_nothing,
    "a replica killed": kill,
    "a worker killed": kill_a_worker,
    "rolling restart": restart_all,
}


@dataclass(frozen=True)
class Incident:
    """An incident under load; times are seconds of the monotonic clock.

    Attributes:
        ended: The time when every replica worked again.
        load_ended: The time when the callers had to stop.
        taken: The number of calls to each replica, by replica and protocol.
    """

    name: str
    calls: Sequence[Call]
    load_began: float
    began: float
    ended: float
    load_ended: float
    resent: int
    taken: Mapping[str, Mapping[str, int]]


def observe(name: str, fleet: Fleet, load: Load, margin_s: float) -> Incident:
    """Make one of `INCIDENTS` under a load that begins `margin_s` before it and ends after it."""
    names = [replica.name for replica in fleet.replicas]
    resent = fleet.balancer.resent(names)
    taken = {name: fleet.balancer.taken(name) for name in names}
    load_began = time.monotonic()
    with load.run():
        time.sleep(margin_s)
        began = time.monotonic()
        INCIDENTS[name](fleet)
        ended = time.monotonic()
        time.sleep(margin_s)
        load_ended = time.monotonic()
    return Incident(
        name, load.calls, load_began, began, ended, load_ended,
        resent=fleet.balancer.resent(names) - resent,
        taken={
            name: {one: count - taken[name][one] for one, count in now.items()}
            for name in names
            for now in [fleet.balancer.taken(name)]
        },
    )  # fmt: skip
