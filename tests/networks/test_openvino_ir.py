"""OpenVINO networks: answers like those of PyTorch, by one thread or all, at every size."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import openvino
import pytest
import torch

from orchestrator.networks import openvino_ir
from orchestrator.networks.engines import Engine
from orchestrator.networks.export import load, represent, write_network
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


@pytest.mark.parametrize("name", ["stn", "lprnet"])
def test_a_file_of_openvino_answers_like_the_network_whatever_the_batch(name, tmp_path) -> None:
    write_network(name, tmp_path / "1" / "model.xml", engine=Engine.OPENVINO)
    network, compiled = load(name), openvino_ir.Compiled(tmp_path / "1" / "model.xml")
    for rows in (1, 3):
        crops = torch.rand(rows, 3, 24, 94, generator=torch.Generator().manual_seed(rows)) * 2 - 1
        references = network(crops)
        references = references if isinstance(references, tuple) else (references,)
        for actual, reference in zip(compiled(crops.numpy()), references, strict=True):
            np.testing.assert_allclose(actual, reference.detach().numpy(), atol=2e-3)


@pytest.fixture(scope="module")
def detector_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("yolo") / "model.xml"
    openvino_ir.save(represent("yolo"), path)
    return path


@pytest.fixture(scope="module")
def detectors(detector_file: Path) -> tuple[torch.nn.Module, openvino_ir.Compiled]:
    """Return the network and its compiled form for one thread."""
    return load("yolo"), openvino_ir.Compiled(detector_file)


@pytest.mark.parametrize("size_hw", [(32, 32), (96, 160), (320, 96)])
@torch.inference_mode()
def test_openvino_detects_like_the_network_at_every_size(detectors, size_hw) -> None:
    network, compiled = detectors
    noise = np.random.default_rng(3).integers(0, 256, (2, *size_hw, 3), dtype=np.uint8)
    (actual,), reference = compiled(noise), network(torch.from_numpy(noise)).numpy()
    assert actual.shape == (2, 300, 6)
    np.testing.assert_allclose(actual[..., 4], reference[..., 4], atol=1e-4)


def test_pictures_of_sizes_that_the_detector_cannot_take_are_refused(
    detectors, detector_file: Path
) -> None:
    """With one thread, OpenVINO gives meaningless numbers for them."""
    for compiled in (detectors[1], openvino_ir.Compiled(detector_file, threads=2)):
        for size_hw in ((50, 70), (32, 70), (208, 640), (640, 350)):
            with pytest.raises(ValueError, match=r"^wanted height and width in multiples of 32$"):
                compiled(np.zeros((1, *size_hw, 3), np.uint8))
        assert compiled(np.zeros((1, 64, 96, 3), np.uint8))[0].shape == (1, 300, 6)


@torch.inference_mode()
def test_small_and_large_pictures_in_turn_are_answered_like_alone(detectors) -> None:
    network, compiled = detectors
    rng = np.random.default_rng(4)
    sizes = [(192, 320), (192, 352), (96, 128)] * 2
    pictures = [rng.integers(0, 256, (1, *size_hw, 3), dtype=np.uint8) for size_hw in sizes]
    for picture in pictures:
        (actual,), reference = compiled(picture), network(torch.from_numpy(picture)).numpy()
        np.testing.assert_allclose(actual[..., 4], reference[..., 4], atol=1e-4)


@pytest.mark.parametrize("name", ["stn", "lprnet"])
def test_one_thread_and_all_threads_answer_alike(name: str) -> None:
    answers = []

    def is_busy() -> bool:
        answers.append(len(answers) % 2 == 1)
        return answers[-1]

    compiled = openvino_ir.Compiled(represent(name), threads=2, is_busy=is_busy)
    crops = np.random.default_rng(5).uniform(-1, 1, (3, 3, 24, 94)).astype(np.float32)
    of_all, of_one = compiled(crops), compiled(crops)
    assert answers == [False, True]
    for alone, busy in zip(of_all, of_one, strict=True):
        np.testing.assert_allclose(busy, alone, atol=1e-5)


def test_the_threads_follow_the_load(monkeypatch: pytest.MonkeyPatch) -> None:
    """Test programs distinguish the two copies by the core's record of them, not by answers."""
    threads = []
    compiled = openvino_ir.Compiled(represent("stn"), threads=2, is_busy=lambda: bool(threads))
    ask = compiled._request

    def note(copy: openvino.CompiledModel) -> openvino.InferRequest:
        threads.append(copy.get_property("INFERENCE_NUM_THREADS"))
        return ask(copy)

    monkeypatch.setattr(compiled, "_request", note)
    crops = np.zeros((1, 3, 24, 94), np.float32)
    compiled(crops)
    compiled(crops)
    assert threads == [2, 1]


@pytest.mark.parametrize("threads", [1, 2])
def test_one_thread_has_a_copy_for_the_frequent_size(
    detector_file: Path, threads: int, monkeypatch
) -> None:
    """The core's record of their inputs tells the copies apart; their answers are equal."""
    compiled = openvino_ir.Compiled(detector_file, threads=threads, is_busy=lambda: True)
    are_static, ask = [], compiled._request

    def note(copy: openvino.CompiledModel) -> openvino.InferRequest:
        are_static.append(copy.inputs[0].partial_shape.is_static)
        return ask(copy)

    monkeypatch.setattr(compiled, "_request", note)
    monkeypatch.setattr(openvino_ir, "CALLS", 4)
    picture = np.random.default_rng(6).integers(0, 256, (1, 224, 320, 3), dtype=np.uint8)
    other_pictures = [np.zeros(shape, np.uint8) for shape in ((1, 320, 224, 3), (1, 96, 128, 3))]
    (first_answer,) = compiled(picture)
    for _ in range(openvino_ir.CALLS - 1):
        compiled(picture)
    compiled.frequent.join()
    (last_answer,) = compiled(picture)
    assert not any(are_static[:-1])
    assert are_static[-1]
    np.testing.assert_array_equal(last_answer, first_answer)
    for other_picture in other_pictures:
        compiled(other_picture)
    assert are_static[-2:] == [False, False]


def test_inputs_that_are_no_pictures_are_answered() -> None:
    numbers = openvino.opset13.parameter([-1], np.float32)
    model = openvino.Model([openvino.opset13.multiply(numbers, np.float32(2))], [numbers])
    (answer,) = openvino_ir.Compiled(model)(np.array([1, 2, 3], np.float32))
    assert answer.tolist() == [2, 4, 6]


def test_many_threads_may_ask_at_once() -> None:
    compiled = openvino_ir.Compiled(represent("stn"), threads=2)
    crops = [np.full((1, 3, 24, 94), value / 10, np.float32) for value in range(10)]
    alone = [compiled(crop)[1] for crop in crops]
    with ThreadPoolExecutor(5) as pool:
        together = [answer[1] for answer in pool.map(compiled, crops * 4)]
    for index, theta in enumerate(together):
        np.testing.assert_allclose(theta, alone[index % 10], atol=1e-5)
