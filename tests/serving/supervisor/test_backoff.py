"""Retries after a failure, with growing pauses."""

from orchestrator.serving.supervisor.backoff import Backoff


class Clock:
    """A clock that a test sets."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_what_never_failed_may_be_tried() -> None:
    assert Backoff(1, 8, Clock()).is_over()


def test_pauses_double_up_to_the_longest() -> None:
    clock = Clock()
    backoff = Backoff(1, 5, clock)
    assert [backoff.fail() for _ in range(4)] == [1, 2, 4, 5]
    clock.now += 4.9
    assert not backoff.is_over()
    clock.now += 0.2
    assert backoff.is_over()


def test_a_failure_long_after_the_last_begins_anew() -> None:
    clock = Clock()
    backoff = Backoff(1, 8, clock)
    assert [backoff.fail(), backoff.fail()] == [1, 2]
    clock.now += 17
    assert backoff.fail() == 1
