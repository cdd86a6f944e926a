"""The pictures and the requests of a soak run."""

import pytest

from workshop.benchmarks.load.requests import GrpcRequest, rest
from workshop.benchmarks.soak.bad_requests import list_bad
from workshop.benchmarks.soak.good_requests import (
    NamedRequest,
    SentPictures,
    draw,
    list_alone,
    list_good,
)


@pytest.fixture(scope="module")
def pictures() -> SentPictures:
    return draw()


def test_every_kind_of_file_and_size_is_there(pictures: SentPictures) -> None:
    starts = {one.encoded[:2] for one in pictures.streets}
    assert starts == {b"\xff\xd8", b"\x89P", b"RI", b"BM"}
    sizes = {one.bgr.shape[:2] for one in pictures.streets}
    assert sizes == {(960, 1280), (480, 640), (1920, 2560), (1080, 1920)}


def test_every_picture_is_also_sent_alone(pictures: SentPictures) -> None:
    shown = {name for one in list_good(pictures) for name in one.shows}
    assert shown == {*list_alone(pictures)}


def test_names_of_requests_differ(pictures: SentPictures) -> None:
    good = [one.name for one in list_good(pictures)]
    bad = [one.name for one in list_bad(pictures.streets[0])]
    assert len({*good, *bad}) == len(good) + len(bad)


def test_the_right_answer_is_that_of_the_pictures_alone() -> None:
    texts = {"one": ("A123BC77",), "two": (), "three": ("B840OK197",)}
    form = NamedRequest("form", rest(b""), ("one", "two", "three")).expect(texts)
    assert (form.is_good, form.texts) == (True, ("A123BC77", "B840OK197"))


def test_bad_requests_are_refused_or_dropped_over_both_protocols(pictures: SentPictures) -> None:
    bad = list_bad(pictures.streets[0])
    assert not any(one.is_good for one in bad)
    over_grpc = [isinstance(one.request, GrpcRequest) for one in bad if one.is_dropped]
    assert sorted(over_grpc) == [False, False, True, True]
