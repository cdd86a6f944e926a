"""Report about requests that cause the fault themselves."""

from workshop.benchmarks.faults.harmful_requests import Attempt, describe, find_blamed
from workshop.benchmarks.load.connections import ANSWERED, LOST, Reply

RIGHT = Attempt(Reply(ANSWERED), 0.5)
BLAMED = Attempt(Reply("400", error="damaged picture"), 0.25)
FAILED = Attempt(Reply("500", error="no memory"), 1.0)
GONE = Attempt(Reply(LOST), 15.0)


def test_the_first_failure_is_described() -> None:
    assert describe([], "calls") == ("0 calls: 0 answered, 0 not",)
    assert describe([RIGHT, FAILED, GONE], "calls") == (
        "3 calls: 1 answered, 2 not",
        "the first of them: 500 after 1.0 s: no memory",
    )


def test_good_pictures_that_are_rejected_are_counted() -> None:
    assert [one.is_refused for one in (RIGHT, BLAMED, FAILED, GONE)] == [False, True, True, False]
    assert find_blamed([RIGHT, FAILED, GONE]) == ()
    assert find_blamed([BLAMED, RIGHT, BLAMED]) == ("2 good pictures were called bad",)
