import numpy as np

from orchestrator.drawing import READ, UNREAD, annotate
from orchestrator.plates import Plate, Plates

WHITE = np.full((200, 300, 3), 255, np.uint8)


def has(picture: np.ndarray, bgr: tuple[int, int, int]) -> bool:
    return bool((picture == bgr).all(axis=2).any())


def test_no_plates_leave_the_picture_as_it_is() -> None:
    assert np.array_equal(annotate(WHITE, Plates()), WHITE)


def test_the_picture_given_is_left_alone() -> None:
    annotate(WHITE, Plates((Plate((10, 80, 110, 110), text="A001AA77"),)))
    assert (WHITE == 255).all()


def test_plates_are_coloured_by_whether_they_were_read() -> None:
    read = annotate(WHITE, Plates((Plate((10, 80, 110, 110), text="A001AA77"),)))
    unread = annotate(WHITE, Plates((Plate((10, 80, 110, 110)),)))
    assert has(read, READ)
    assert not has(read, UNREAD)
    assert has(unread, UNREAD)


def test_a_label_at_the_top_edge_goes_below() -> None:
    drawn = annotate(WHITE, Plates((Plate((10, 0, 110, 20), text="A001AA77"),)))
    assert has(drawn[24:70], READ)
