"""The pictures and the requests of a soak run."""

import numpy as np
import pytest

from workshop.benchmarks.load.requests import GrpcRequest
from workshop.benchmarks.pictures import encode
from workshop.benchmarks.soak.callers import CheckedRequest
from workshop.benchmarks.soak.request_kinds import SentPictures, list_alone, list_bad, list_good


@pytest.fixture(scope="module")
def pictures() -> SentPictures:
    street, other, tiny, crop = (
        encode(name, np.zeros((12, 16, 3), np.uint8))
        for name in ("street", "other", "tiny", "crop")
    )
    return SentPictures((street, other), tiny, crop)


@pytest.fixture(scope="module")
def bad(pictures: SentPictures) -> list[CheckedRequest]:
    return list_bad(pictures.streets[0])


def test_the_right_answer_is_that_of_the_pictures_alone(
    pictures: SentPictures, bad: list[CheckedRequest]
) -> None:
    texts = {name: (name,) for name in list_alone(pictures)}
    good = {one.name: one for one in list_good(pictures, texts)}
    assert {text for one in good.values() for text in one.texts} == {*texts}
    assert good["street and another by REST form"].texts == ("street", "other")
    names = {*good, *(one.name for one in bad)}
    assert len(names) == sum(1 for _ in list_good(pictures, texts)) + len(bad)


def test_bad_requests_are_refused_or_dropped_over_both_protocols(bad: list[CheckedRequest]) -> None:
    assert not any(one.is_good for one in bad)
    over_grpc = [isinstance(one.request, GrpcRequest) for one in bad if one.outcome == "dropped"]
    assert sorted(over_grpc) == [False, False, True, True]
