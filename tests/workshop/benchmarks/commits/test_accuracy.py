import pytest

from workshop.benchmarks.commits.accuracy import Judged, PairedShare, pair_answers
from workshop.evaluation.outcomes import MISSED, READ, WRONG

BOTH = Judged(("A123BC77",), (READ,))
WRONG_TEXT = Judged(("A123BC78",), (WRONG,))
NOTHING = Judged((), (MISSED,))


def test_plates_are_paired_picture_by_picture() -> None:
    base = [BOTH, BOTH, NOTHING, WRONG_TEXT]
    head = [BOTH, NOTHING, BOTH, BOTH]
    found = pair_answers("a set", base, head)
    assert (found.name, found.pictures, found.changed) == ("a set", 4, 3)
    assert found.read == PairedShare(plates=4, base=2, head=3, only_base=1, only_head=2)
    assert found.wrong == PairedShare(plates=4, base=1, head=0, only_base=1, only_head=0)


def test_a_share_knows_its_difference_interval_and_chance() -> None:
    share = PairedShare(plates=100, base=50, head=60, only_base=0, only_head=10)
    low, high = share.interval
    assert share.difference == pytest.approx(0.1)
    assert 0 < low < 0.1 < high
    assert share.p_value == pytest.approx(2 / 2**10)
