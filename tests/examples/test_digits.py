"""The example of digits: files alone, in one batch, and beside a broken file."""

import importlib.util
import sys
from collections.abc import Iterator
from functools import cache

import cv2
import numpy as np
import pytest
import torch
from tritonclient.grpc import InferenceServerClient
from tritonclient.utils import InferenceServerException

from examples.digits.__main__ import REPOSITORY, best_named, classify, count_right
from examples.digits.pictures import to_net
from examples.digits.samples import HELD_OUT, load_samples, to_file
from examples.digits.train import MODEL, Classifier
from orchestrator.errors import PictureError
from orchestrator.serving.supervisor.options import ServerOptions
from tests.triton import fake_triton
from workshop.evaluation.proportions import wilson_interval

README = (REPOSITORY.parent / "README.md").read_text()
BROKEN = b"no picture"
CUT = to_file(np.eye(8) * 16)[:100]


@cache
def digits() -> tuple[list[bytes], np.ndarray]:
    return load_samples(HELD_OUT)


def files() -> list[bytes]:
    return digits()[0]


def classes() -> np.ndarray:
    return digits()[1]


def png(picture: np.ndarray, suffix: str = ".png") -> bytes:
    return cv2.imencode(suffix, picture)[1].tobytes()


@pytest.mark.parametrize("suffix", [".png", ".jpg", ".bmp", ".webp"])
def test_zeros_after_a_file_change_nothing(suffix: str) -> None:
    file = png(np.random.default_rng(0).integers(0, 256, (40, 30, 3), np.uint8), suffix)
    np.testing.assert_array_equal(to_net(file + bytes(1000)), to_net(file))


@pytest.mark.parametrize("file", [b"", BROKEN, CUT], ids=["empty", "text", "half"])
def test_bytes_that_are_no_picture_are_an_error(file: bytes) -> None:
    with pytest.raises(PictureError):
        to_net(file)


def test_the_committed_file_is_the_classifier_of_the_source() -> None:
    committed, source = torch.jit.load(MODEL), Classifier().eval()
    source.load_state_dict(committed.state_dict())
    pictures = torch.from_numpy(np.stack([to_net(file) for file in files()[:64]]))
    with torch.inference_mode():
        assert torch.equal(committed(pictures), source(pictures))
    assert committed.code == torch.jit.script(source).code


@pytest.fixture
def step(monkeypatch: pytest.MonkeyPatch):
    """The Python model, initialized by a fake Triton."""
    monkeypatch.setitem(sys.modules, "triton_python_backend_utils", fake_triton)
    path = REPOSITORY / "digits_prepare" / "1" / "model.py"
    spec = importlib.util.spec_from_file_location("digits_prepare", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.TritonPythonModel()


def test_of_requests_of_different_length_the_broken_one_alone_fails(step) -> None:
    first, bad, last = step.execute([request_of(file) for file in (files()[0], BROKEN, files()[1])])
    answers = [response.output_tensors()[0].as_numpy()[0] for response in (first, last)]
    np.testing.assert_array_equal(answers, [to_net(file) for file in files()[:2]])
    assert (bad.error().code(), bad.error().message()) == (
        fake_triton.TritonError.INVALID_ARG,
        "INPUT0, row 0 of 1: wanted a JPEG, PNG, WebP or BMP file, got 10 bytes that are none",
    )


def request_of(file: bytes) -> fake_triton.InferenceRequest:
    row = np.frombuffer(file, np.uint8)[None]
    return fake_triton.InferenceRequest(inputs=[fake_triton.Tensor("INPUT0", row)])


@pytest.fixture(scope="module")
def client(server: ServerOptions) -> Iterator[InferenceServerClient]:
    with InferenceServerClient(server.grpc_url) as client:
        yield client


@pytest.mark.server
def test_files_of_different_length_go_in_one_request(client: InferenceServerClient) -> None:
    kinds = (28, ".png"), (200, ".jpg"), (64, ".bmp"), (9, ".webp")
    pictures = [png(cv2.resize(image_of(0), (side, side)), suffix) for side, suffix in kinds]
    together = classify(client, pictures)
    alone = np.concatenate([classify(client, [file]) for file in pictures])
    assert together.shape == (4, 10)
    np.testing.assert_allclose(together, alone, atol=1e-6)
    assert together.argmax(axis=1).tolist() == [classes()[0]] * 4


def image_of(index: int) -> np.ndarray:
    return cv2.imdecode(np.frombuffer(files()[index], np.uint8), cv2.IMREAD_COLOR)


@pytest.mark.server
def test_the_chain_answers_as_its_steps_in_process(client: InferenceServerClient) -> None:
    pictures = torch.from_numpy(np.stack([to_net(file) for file in files()[:32]]))
    with torch.inference_mode():
        probs = torch.jit.load(MODEL)(pictures).numpy()
    np.testing.assert_allclose(classify(client, files()[:32]), probs, atol=1e-6)


@pytest.mark.server
def test_an_error_names_the_row_and_the_server_goes_on(client: InferenceServerClient) -> None:
    message = "INPUT0, row 1 of 3: wanted a JPEG, PNG, WebP or BMP file"
    with pytest.raises(InferenceServerException, match=message) as raised:
        classify(client, [files()[0], BROKEN, files()[1]])
    assert raised.value.status() == "StatusCode.INVALID_ARGUMENT"
    assert classify(client, files()[:1]).argmax() == classes()[0]


@pytest.mark.server
def test_triton_sorts_and_names_the_classes(client: InferenceServerClient) -> None:
    probs = classify(client, files()[:1])[0]
    names = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    expected_names = [
        f"{probs[index]:f}:{index}:{names[index]}" for index in np.argsort(-probs)[:3]
    ]
    assert best_named(client, files()[0]) == expected_names


@pytest.mark.server
def test_the_readme_states_the_accuracy_of_what_is_served(client: InferenceServerClient) -> None:
    right, count = count_right(client)
    low, high = wilson_interval(right, count)
    assert f"{right} of {count} held out, {right / count:.1%} ({low:.1%} to {high:.1%})" in README
