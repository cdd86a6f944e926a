"""Report about calls that cause the fault themselves."""

from workshop.benchmarks.faults.culprits import Tried, find_blamed, tell
from workshop.benchmarks.faults.wires import ANSWERED, LOST, Reply

RIGHT = Tried(Reply(ANSWERED, "a"), 0.5)
BLAMED = Tried(Reply("400", told="damaged picture"), 0.25)
FAILED = Tried(Reply("500", told="no memory"), 1.0)
GONE = Tried(Reply(LOST), 15.0)


def test_the_first_without_an_answer_is_told() -> None:
    assert tell([], "calls") == ("0 calls: 0 answered, 0 not",)
    assert tell([RIGHT, FAILED, GONE], "calls") == (
        "3 calls: 1 answered, 2 not",
        "the first of them: 500 after 1.0 s: no memory",
    )


def test_a_service_that_lacks_something_blames_no_caller() -> None:
    assert find_blamed([RIGHT, FAILED, GONE]) == ()
    assert find_blamed([BLAMED, RIGHT, BLAMED]) == ("2 good pictures were called bad",)


def test_only_who_was_told_so_was_refused() -> None:
    assert [one.is_refused for one in (RIGHT, BLAMED, FAILED, GONE)] == [False, True, True, False]
