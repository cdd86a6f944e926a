"""The pictures and the requests of a soak run."""

import pytest

from workshop.benchmarks.load.requests import GrpcRequest
from workshop.benchmarks.soak.bad_requests import list_bad
from workshop.benchmarks.soak.good_requests import SentPictures, draw, list_alone, list_good


@pytest.fixture(scope="module")
def pictures() -> SentPictures:
    return draw()


def test_every_kind_of_file_and_size_is_there(pictures: SentPictures) -> None:
    starts = {one.encoded[:2] for one in pictures.streets}
    assert starts == {b"\xff\xd8", b"\x89P", b"RI", b"BM"}
    sizes = {one.bgr.shape[:2] for one in pictures.streets}
    assert sizes == {(960, 1280), (480, 640), (1920, 2560), (1080, 1920)}


def test_the_right_answer_is_that_of_the_pictures_alone(pictures: SentPictures) -> None:
    texts = {name: (name,) for name in list_alone(pictures)}
    good = {one.name: one for one in list_good(pictures, texts)}
    assert {text for one in good.values() for text in one.texts} == {*texts}
    assert good["street and another by REST form"].texts == ("street", pictures.streets[-1].name)
    bad = [one.name for one in list_bad(pictures.streets[0])]
    assert len({*good, *bad}) == sum(1 for _ in list_good(pictures, texts)) + len(bad)


def test_bad_requests_are_refused_or_dropped_over_both_protocols(pictures: SentPictures) -> None:
    bad = list_bad(pictures.streets[0])
    assert not any(one.is_good for one in bad)
    over_grpc = [isinstance(one.request, GrpcRequest) for one in bad if one.outcome == "dropped"]
    assert sorted(over_grpc) == [False, False, True, True]
