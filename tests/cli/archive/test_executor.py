"""Partitions whose actors have died; no Ray is needed."""

from collections.abc import Sequence

from orchestrator.cli.archive.actor import PartitionOutcome
from orchestrator.cli.archive.executor import ROUNDS, ActorPlan, do_in_rounds
from orchestrator.cli.archive.listing import Partition

PARTITIONS = [Partition(name, ()) for name in "abc"]


class DyingExecutor:
    """An executor that fails for some partitions, each a given number of times."""

    def __init__(self, **deaths: int) -> None:
        self.deaths, self.calls = deaths, list[str]()

    def __call__(self, partitions: Sequence[Partition]) -> list[PartitionOutcome]:
        names = [partition.name for partition in partitions]
        self.calls.append("".join(names))
        dead = {name for name in names if self.deaths.get(name, 0) >= len(self.calls)}
        return [PartitionOutcome(name) for name in names if name not in dead]


def test_partitions_of_a_dead_machine_are_done_again() -> None:
    executor = DyingExecutor(b=1, c=2)
    assert [*do_in_rounds([], executor)] == []
    outcomes = [*do_in_rounds(PARTITIONS, executor)]
    assert executor.calls == ["abc", "bc", "c"]
    assert [(outcome.name, outcome.error) for outcome in outcomes] == [(n, "") for n in "abc"]


def test_a_partition_that_kills_every_actor_is_left_out_and_reported() -> None:
    outcomes = [*do_in_rounds(PARTITIONS, DyingExecutor(b=ROUNDS))]
    assert [outcome.name for outcome in outcomes if not outcome.error] == ["a", "c"]
    assert [outcome.name for outcome in outcomes if outcome.error] == ["b"]


def test_networks_share_the_cores_of_a_machine() -> None:
    one_actor, four_actors = (ActorPlan.of_networks(actors, 0, 0, "") for actors in (1, 4))
    assert one_actor.cpus >= four_actors.cpus >= 1
    assert ActorPlan.of_networks(4, 0, 2, "").gpus == 0.5
    assert ActorPlan.of_networks(0, 0, 1, "auto") == ActorPlan(0, 1, 1.0, "auto")
