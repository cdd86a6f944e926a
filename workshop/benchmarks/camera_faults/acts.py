"""Acts make faults: `with` blocks that break one thing, and heal it at their end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from workshop.benchmarks.camera_faults.world import World

Act = Callable[[World], AbstractContextManager[None]]


@contextmanager
def nothing(_world: World) -> Iterator[None]:
    """Do nothing: the fault lies in the setting."""
    yield


def both(first: Act, second: Act) -> Act:
    """Make two faults at once."""

    @contextmanager
    def act(world: World) -> Iterator[None]:
        with first(world), second(world):
            yield

    return act
