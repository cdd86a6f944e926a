"""The pictures and mistakes of a soak run."""

import numpy as np
import pytest

from workshop.benchmarks.soak.catalogue import Asked, Catalogue, draw, list_alone, list_good
from workshop.benchmarks.soak.messages import GrpcMessage, kserve_grpc, pixels, rest
from workshop.benchmarks.soak.mistakes import list_bad


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return draw()


def test_every_kind_of_file_and_size_is_there(catalogue: Catalogue) -> None:
    starts = {one.encoded[:2] for one in catalogue.streets}
    assert starts == {b"\xff\xd8", b"\x89P", b"RI", b"BM"}
    sizes = {one.bgr.shape[:2] for one in catalogue.streets}
    assert sizes == {(960, 1280), (480, 640), (1920, 2560), (1080, 1920)}


def test_every_picture_that_is_shown_is_asked_about_alone(catalogue: Catalogue) -> None:
    shown = {name for asked in list_good(catalogue) for name in asked.shows}
    assert shown == {*list_alone(catalogue)}


def test_names_of_questions_differ(catalogue: Catalogue) -> None:
    asked = [one.name for one in list_good(catalogue)]
    bad = [one.name for one in list_bad(catalogue.streets[0])]
    assert len({*asked, *bad}) == len(asked) + len(bad)


def test_a_question_wants_what_its_pictures_were_answered_with() -> None:
    texts = {"one": ("A123BC77",), "two": (), "three": ("B840OK197",)}
    tiny = np.zeros((2, 2, 3), np.uint8)
    form = Asked("form", rest(b""), ("one", "two", "three")).question(texts)
    call = Asked("call", kserve_grpc([pixels(tiny)]), ("two",)).question(texts)
    assert (form.wanted.status, form.wanted.texts) == ("200", ("A123BC77", "B840OK197"))
    assert (call.wanted.status, call.wanted.texts) == ("OK", ())


def test_bad_questions_are_told_or_dropped_over_both_protocols(catalogue: Catalogue) -> None:
    bad = list_bad(catalogue.streets[0])
    assert not any(one.is_good for one in bad)
    over_grpc = [isinstance(one.message, GrpcMessage) for one in bad if one.is_dropped]
    assert sorted(over_grpc) == [False, False, True, True]
