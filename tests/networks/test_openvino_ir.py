"""OpenVINO networks: the copy for the most frequent size of pictures."""

import threading

from orchestrator.networks.openvino_ir import CALLS, FrequentSize

LARGE, SMALL = (1, 736, 960, 3), (1, 544, 960, 3)


def test_the_first_size_that_comes_often_is_prepared_once() -> None:
    shapes = []
    sizes = FrequentSize(lambda shape: shapes.append(shape) or f"for {shape[1]}")
    for _ in range(CALLS - 1):
        assert sizes.find(SMALL) is sizes.find(LARGE) is None
    sizes.join()
    assert shapes == []
    sizes.find(LARGE)
    sizes.join()
    for _ in range(CALLS):
        sizes.find(SMALL)
    sizes.join()
    assert (sizes.find(LARGE), sizes.find(SMALL)) == ("for 736", None)
    assert shapes == [LARGE]


def test_calls_do_not_wait_for_the_preparation() -> None:
    may_end = threading.Event()
    sizes = FrequentSize(lambda shape: may_end.wait(10))
    assert [sizes.find(LARGE) for _ in range(CALLS + 1)] == [None] * (CALLS + 1)
    may_end.set()
    sizes.join()
    assert sizes.find(LARGE) is True


def test_a_preparation_that_fails_is_told_and_not_tried_again(caplog) -> None:
    shapes = []

    def prepare(shape: tuple[int, ...]) -> str:
        shapes.append(shape)
        raise RuntimeError("out of memory")

    sizes = FrequentSize(prepare)
    for _ in range(3 * CALLS):
        assert sizes.find(LARGE) is None
    sizes.join()
    assert shapes == [LARGE]
    assert caplog.messages == [
        "a network for [1, 736, 960, 3] cannot be prepared: out of memory",
    ]
